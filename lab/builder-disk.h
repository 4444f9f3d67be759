/*
 * builder-disk.h - disks, written with libguestfs.
 */
#ifndef NL_BUILDER_DISK_H
#define NL_BUILDER_DISK_H

#include "builder.h"

/* Make FOLDER/disk.qcow2 with an ext4 file system that holds what is in the tar file TAR. */
int builder_disk_from_tar(struct builder *builder, const char *folder, const char *tar,
                          const char *log, struct nl_error **err);

/* Can libguestfs's appliance be made on this machine? To be asked before what takes minutes. */
int builder_appliance_possible(struct nl_error **err);

#endif
