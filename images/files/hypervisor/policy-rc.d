#!/bin/sh
# Packages that are installed into the image must not start services: the agent does.
exit 101
