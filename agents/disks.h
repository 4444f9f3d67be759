/*
 * disks.h - virtio disks by their serial number. Never by UUID or label: layers share those.
 */
#ifndef AGENT_DISKS_H
#define AGENT_DISKS_H

/* Wait until the disk with this serial number and its device file are there. "/dev/vda", malloc'd;
   NULL when DEADLINE_S seconds have passed (0: look once). */
char *agent_disk_find(const char *serial, double deadline_s);

#endif
