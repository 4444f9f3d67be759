/*
 * find-disk.h - virtio disks by their serial number. Never by UUID or label: layers share those.
 */
#ifndef AGENT_FIND_DISK_H
#define AGENT_FIND_DISK_H

#include <jansson.h>

/* Wait until the disk with this serial number and its device file are there. "/dev/vda", malloc'd;
   NULL when DEADLINE_S seconds have passed (0: look once). */
char *agent_disk_find(const char *serial, double deadline_s);

/* All disks that have a serial number: {"nl-boot": "/dev/vdb"}. New reference. */
json_t *agent_disks(void);

#endif
