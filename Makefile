# nestlab: see `make help`.

VERSION := 0.1.0
PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build

CC ?= gcc
WARNINGS := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla
CFLAGS ?= -O2 -g
COMMON := -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -DNL_VERSION='"$(VERSION)"' \
	-DNL_PREFIX='"$(PREFIX)"'
LAB_LIBS := libvirt libvirt-qemu libssh jansson libxml-2.0
BUILDER_LIBS := libguestfs jansson libarchive liblzma
# Expanded when used, so that `make help` and `make deps` work before the packages are there.
LAB_CFLAGS = $(shell pkg-config --cflags $(LAB_LIBS))
LAB_LDLIBS = $(shell pkg-config --libs $(LAB_LIBS)) -ljq -lm -lpthread
BUILDER_CFLAGS = $(shell pkg-config --cflags $(BUILDER_LIBS))
BUILDER_LDLIBS = $(shell pkg-config --libs $(BUILDER_LIBS)) -lm -lpthread

BUILDER_SRC := $(wildcard lab/builder*.c)
LAB_SRC := $(filter-out lab/main.c $(BUILDER_SRC),$(wildcard lab/*.c))
AGENT_SRC := $(wildcard agents/*.c)

LAB_OBJ := $(LAB_SRC:%.c=$(BUILD)/%.o)
BUILDER_OBJ := $(BUILDER_SRC:%.c=$(BUILD)/%.o)
AGENT_OBJ := $(AGENT_SRC:%.c=$(BUILD)/%.o)

.PHONY: all run check bench install images format lint clean help deps
.DEFAULT_GOAL := all

all: $(BUILD)/nestlab $(BUILD)/nestlab-builder $(BUILD)/nestlab-agent

$(BUILD)/libnestlab.a: $(LAB_OBJ)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/nestlab: $(BUILD)/lab/main.o $(BUILD)/libnestlab.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LAB_LDLIBS)

$(BUILD)/nestlab-builder: $(BUILDER_OBJ) $(BUILD)/libnestlab.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(BUILDER_LDLIBS)

# Static, so that it runs in any guest.
$(BUILD)/nestlab-agent: $(AGENT_OBJ)
	$(CC) $(CFLAGS) $(LDFLAGS) -static -s -o $@ $^ -ljansson -lm -lpthread

$(BUILD)/lab/builder%.o: COMMON += $(BUILDER_CFLAGS)
$(BUILD)/lab/%.o: lab/%.c
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(LAB_CFLAGS) $(CFLAGS) -MMD -MP -Ilab -Iagents -c -o $@ $<

$(BUILD)/agents/%.o: agents/%.c
	@mkdir -p $(@D)
	$(CC) $(COMMON) $(CFLAGS) -MMD -MP -Iagents -c -o $@ $<

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
