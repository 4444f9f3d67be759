# nestlab: `make help` lists the targets.

VERSION := 0.1.0
PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build

CC ?= gcc
WARNINGS := -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
	-Wformat-security
CFLAGS ?= -O2 -g
COMMON := -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -DNL_VERSION='"$(VERSION)"' \
	-DNL_PREFIX='"$(PREFIX)"'
LAB_LIBS := libvirt libvirt-qemu libssh libcrypto jansson libxml-2.0 libarchive libpcre2-8 libhs \
	sqlite3 zlib
BUILDER_LIBS := libguestfs libssh libcrypto jansson libarchive
# Expanded when first used, so that `make help` and `make deps` work before the packages are there;
# then kept, since every compilation asks again.
once = $(eval $(1) := $(2))$($(1))
LAB_CFLAGS = $(call once,LAB_CFLAGS,$(shell pkg-config --cflags $(LAB_LIBS)))
LAB_LDLIBS = $(call once,LAB_LDLIBS,$(shell pkg-config --libs $(LAB_LIBS)) -ljq -lm -lpthread)
BUILDER_CFLAGS = $(call once,BUILDER_CFLAGS,$(shell pkg-config --cflags $(BUILDER_LIBS)))
BUILDER_LDLIBS = $(call once,BUILDER_LDLIBS,$(shell pkg-config --libs $(BUILDER_LIBS)) -lm -lpthread)

BUILDER_SRC := $(wildcard lab/builder*.c)
LAB_SRC := $(filter-out lab/main.c $(BUILDER_SRC),$(wildcard lab/*.c))
METER_SRC := $(wildcard agents/meter*.c)
AGENT_SRC := $(filter-out $(METER_SRC),$(wildcard agents/*.c))
TEST_SRC := $(wildcard tests/unit/test-*.c)
SCENARIOS := $(wildcard scenarios/*.json)
ALL_C := $(wildcard lab/*.[ch] agents/*.[ch] tests/unit/*.[ch] tests/fuzz/*.[ch])

LAB_OBJ := $(LAB_SRC:%.c=$(BUILD)/%.o)
BUILDER_OBJ := $(BUILDER_SRC:%.c=$(BUILD)/%.o)
AGENT_OBJ := $(AGENT_SRC:%.c=$(BUILD)/%.o)
METER_OBJ := $(METER_SRC:%.c=$(BUILD)/%.o)
TESTS := $(TEST_SRC:%.c=$(BUILD)/%)

.PHONY: all deps run check check-unit check-e2e check-faults bench bench-meter images format lint install clean help
.DEFAULT_GOAL := all

# make V=1 shows the commands.
ifdef V
Q :=
SAY := @:
else
Q := @
SAY := @echo
endif

all: $(BUILD)/nestlab $(BUILD)/nestlab-builder $(BUILD)/nestlab-agent \
		$(BUILD)/nestlab-meter.so ## build everything

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

deps: ## install the Debian packages that nestlab needs (as root)
	@tests/deps install

run: ## build nestlab and the images, run scenarios/nested-boot.json, print the report
	@tests/deps install
	@echo "building nestlab"
	@$(MAKE) --no-print-directory -s -j2 all
	@$(BUILD)/nestlab run scenarios/nested-boot.json

check: ## format, lint, unit tests (also with sanitizers), end-to-end tests
	@tests/deps install
	@tests/run all

check-unit: ## unit tests only
	@tests/run unit

check-e2e: ## end-to-end tests on real stacks only
	@tests/run e2e

check-faults: all ## inject every fault of scenarios/faults, see that each is recognised (FAULT_ROUNDS=N)
	@tests/faults

bench: all ## repeat the tables of docs/measuring.md; PARTS="boot meter clean compare l3" chooses
	@tests/bench-all $(PARTS)

bench-meter: all ## repeat a metered run, print how well its counts repeat
	@tests/bench-meter

images: all ## build the images without running anything
	@$(BUILD)/nestlab build

$(BUILD)/libnestlab.a: $(LAB_OBJ)
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(BUILD)/nestlab: $(BUILD)/lab/main.o $(BUILD)/libnestlab.a
	$(SAY) "  LINK  $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(LAB_LDLIBS)

$(BUILD)/nestlab-builder: $(BUILDER_OBJ) $(BUILD)/libnestlab.a
	$(SAY) "  LINK  $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ $(BUILDER_LDLIBS)

# Static, so that it runs in any guest; never with sanitizers, which cannot be.
$(BUILD)/nestlab-agent: $(AGENT_OBJ)
	$(SAY) "  LINK  $@"
	$(Q)$(CC) $(filter-out -fsanitize=%,$(CFLAGS)) -static -s -o $@ $^ -ljansson -lm -lpthread

# A plugin of QEMU's, which has the functions that are undefined here; without sanitizers, which
# QEMU has not.
$(BUILD)/nestlab-meter.so: $(METER_OBJ)
	$(SAY) "  LINK  $@"
	$(Q)$(CC) $(filter-out -fsanitize=%,$(CFLAGS)) -shared -o $@ $^

$(METER_OBJ): COMMON += -fPIC -fvisibility=hidden
$(BUILD)/lab/builder%.o: COMMON += $(BUILDER_CFLAGS)
$(BUILD)/lab/%.o: lab/%.c
	@mkdir -p $(@D)
	$(SAY) "  CC    $@"
	$(Q)$(CC) $(COMMON) $(LAB_CFLAGS) $(CFLAGS) -MMD -MP -Ilab -Iagents -c -o $@ $<

$(BUILD)/agents/%.o: agents/%.c
	@mkdir -p $(@D)
	$(SAY) "  CC    $@"
	$(Q)$(CC) $(COMMON) $(CFLAGS) -MMD -MP -Iagents -c -o $@ $<

$(BUILD)/tests/unit/%.o: tests/unit/%.c
	@mkdir -p $(@D)
	$(SAY) "  CC    $@"
	$(Q)$(CC) $(COMMON) $(LAB_CFLAGS) $(CFLAGS) -DNL_SOURCE='"$(CURDIR)"' -MMD -MP -Ilab -Iagents \
		-c -o $@ $<

$(BUILD)/tests/unit/test-agent-%: $(BUILD)/tests/unit/test-agent-%.o \
		$(filter-out $(BUILD)/agents/main.o,$(AGENT_OBJ))
	$(SAY) "  LINK  $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka -ljansson -lm -lpthread

METER_TESTS := $(BUILD)/tests/unit/test-meter-layers $(BUILD)/tests/unit/test-meter-places
$(METER_TESTS): $(BUILD)/tests/unit/test-%: $(BUILD)/tests/unit/test-%.o $(BUILD)/agents/%.o
	$(SAY) "  LINK  $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka

$(BUILD)/tests/unit/test-builder-%: $(BUILD)/tests/unit/test-builder-%.o \
		$(filter-out $(BUILD)/lab/builder.o,$(BUILDER_OBJ)) $(BUILD)/libnestlab.a
	$(SAY) "  LINK  $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(BUILDER_LDLIBS)

$(BUILD)/tests/unit/test-%: $(BUILD)/tests/unit/test-%.o $(BUILD)/libnestlab.a
	$(SAY) "  LINK  $@"
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lcmocka $(LAB_LDLIBS)

.PHONY: tests
.SECONDARY: $(TESTS:%=%.o)
tests: $(TESTS)

# Instrumented, so in a build folder of their own. `make fuzz FUZZERS=rules FUZZ_SECONDS=60`.
FUZZ_SRC := $(wildcard tests/fuzz/fuzz-*.c)
FUZZ_CFLAGS := -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined \
	-fno-sanitize-recover=all
.PHONY: fuzz fuzzers
fuzz: ## run every fuzzer for FUZZ_SECONDS (default 600)
	@$(MAKE) --no-print-directory -s -j2 BUILD=build/fuzz CC=clang CFLAGS='$(FUZZ_CFLAGS)' fuzzers
	@BUILD=build/fuzz tests/fuzz/run $(FUZZERS)

fuzzers: $(FUZZ_SRC:tests/fuzz/%.c=$(BUILD)/%)

$(BUILD)/tests/fuzz/%.o: tests/fuzz/%.c
	@mkdir -p $(@D)
	$(SAY) "  CC    $@"
	$(Q)$(CC) $(COMMON) $(LAB_CFLAGS) $(CFLAGS) -MMD -MP -Ilab -Iagents -c -o $@ $<

AGENT_FUZZERS := $(patsubst tests/fuzz/%.c,$(BUILD)/%,$(wildcard tests/fuzz/fuzz-agent*.c))
$(AGENT_FUZZERS): $(BUILD)/fuzz-%: $(BUILD)/tests/fuzz/fuzz-%.o \
		$(filter-out $(BUILD)/agents/main.o,$(AGENT_OBJ))
	$(Q)$(CC) $(CFLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ -ljansson -lm -lpthread

$(BUILD)/fuzz-builder: $(BUILD)/tests/fuzz/fuzz-builder.o \
		$(filter-out $(BUILD)/lab/builder.o,$(BUILDER_OBJ)) $(BUILD)/libnestlab.a
	$(Q)$(CC) $(CFLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(BUILDER_LDLIBS)

$(BUILD)/fuzz-%: $(BUILD)/tests/fuzz/fuzz-%.o $(BUILD)/libnestlab.a
	$(Q)$(CC) $(CFLAGS) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(LAB_LDLIBS)

format: ## format all C sources
	clang-format -i $(ALL_C)

lint: ## clang-format (dry), clang-tidy and cppcheck
	@tests/lint

install: all ## install under DESTDIR/PREFIX
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/share/nestlab/scenarios \
		$(DESTDIR)$(PREFIX)/libexec/nestlab $(DESTDIR)$(PREFIX)/share/man/man1 \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions \
		$(DESTDIR)$(PREFIX)/share/doc/nestlab/docs/commands
	install -m 755 $(BUILD)/nestlab $(DESTDIR)$(PREFIX)/bin/
	install -m 755 $(BUILD)/nestlab-builder $(BUILD)/nestlab-agent \
		$(DESTDIR)$(PREFIX)/libexec/nestlab/
	install -m 755 $(BUILD)/nestlab-meter.so $(DESTDIR)$(PREFIX)/libexec/nestlab/
	cp -R --no-preserve=ownership images scenarios $(DESTDIR)$(PREFIX)/share/nestlab/
	install -m 644 docs/nestlab.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 644 docs/nestlab.bash \
		$(DESTDIR)$(PREFIX)/share/bash-completion/completions/nestlab
	install -m 644 README.md $(DESTDIR)$(PREFIX)/share/doc/nestlab/
	install -m 644 $(wildcard docs/*.md docs/*.schema.json) \
		$(DESTDIR)$(PREFIX)/share/doc/nestlab/docs/
	install -m 644 $(wildcard docs/commands/*.md) \
		$(DESTDIR)$(PREFIX)/share/doc/nestlab/docs/commands/

clean: ## remove what was built here
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
