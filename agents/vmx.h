/*
 * vmx.h - Intel's VMX capability MSRs, 0x480 on: raw, and names for what matters to nesting.
 */
#ifndef AGENT_VMX_H
#define AGENT_VMX_H

#include "util.h"

#define AGENT_VMX_FIRST 0x480
#define AGENT_VMX_COUNT 20

/* Through the msr driver's device of CPU 0; MSRs that cannot be read are left out, null if none can
   (no msr driver, no rights, no VMX). */
json_t *agent_vmx_capabilities(const char *msr_device);

/* {NAME: bool} out of the object that agent_vmx_capabilities() returns; null for null. A control
   whose MSR is missing is left out. */
json_t *agent_vmx_features(const json_t *capabilities);

#endif
