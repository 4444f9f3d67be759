# Functions for the programs of checks: the default ones in checks.json, and those of scenarios.
#
# A program sees the whole document as `.` (docs/document.md), and
#   $layer   the layer the check is about (null: the whole run)    $below   the layer below it
#   $layers  all layers                                            $lists   log-lines.json
# It gives true (pass), false (fail), a string (fail, with that message) or one of these:

def pass($message): {verdict: "pass", message: $message};
def fail($message): {verdict: "fail", message: $message};
def skip($message): {verdict: "skip", message: $message};
# It cannot be told.
def unknown($message): {verdict: "error", message: $message};

# On a document: the layer of that name.
def layer($name): .layers[] | select(.name == $name);

# On a document: is the layer this very machine, not a guest that the run booted?
def is_this_machine($layer): $layer.index == 0 and .run.l0.taken == "local";

# On a module parameter: booleans read "Y" or "N", integers "1" or "0", by kernel version.
def is_on: . == "1" or . == "Y" or . == "y";

# On facts: the KVM module of this processor's vendor, if it is loaded; else null.
def vendor_module:
    if .modules.kvm_amd.loaded then "kvm_amd"
    elif .modules.kvm_intel.loaded then "kvm_intel"
    else null end;

# On a layer: does a line of its kernel log match?
def log_has($pattern): any(.log.records[]; .text | test($pattern));

# On a layer: a check about what kvm_amd says when it is loaded. kvm_intel says nothing there; on this
# very machine the module was loaded long ago, and the line may have been overwritten.
def log_says($pattern; $document):
    . as $layer
    | if log_has($pattern) then true
      elif .facts | vendor_module == "kvm_intel" then
          skip("kvm_intel logs nothing about this; its parameters are checked instead")
      elif .facts | vendor_module == null then
          unknown("kvm_amd is not loaded")
      elif ($document | is_this_machine($layer)) and (.log.lost > 0 or .log.records[0].seq > 0) then
          skip("this machine's log no longer goes back to when kvm_amd was loaded; "
               + "its parameters are checked instead")
      else fail("no line of the kernel log matches \"\($pattern)\"") end;

# On a layer: the sum of the counters whose names match, at the first reading and at the last one:
# {first, last, moved}, or null where there are not two readings that have them. Counters are strings,
# since they may exceed 2^53; as numbers they are then off by less than one part in 10^15.
def sum_of($pattern):
    [.counters | to_entries[] | select(.key | test($pattern)) | .value | tonumber]
    | if length == 0 then null else add end;
def counted($pattern):
    [.exits[] | sum_of($pattern) | values]
    | if length < 2 then null else {first: .[0], last: .[-1], moved: (.[-1] - .[0])} end;
def vm_exits: "^vcpu\\.[0-9]+\\.exits\\.sum$";
def nested_runs: "(^|\\.)nested_run\\.sum$";

# On a layer: its counters from the time on when the layer above it was created, so that what it ran
# before does not count.
def since($time):
    ([.exits[] | select(.at_s <= $time)] | last) as $base
    | .exits |= [($base | values), (.[] | select(.at_s > $time))];

# On a layer: the records of its log that belong to the run. On this very machine the log holds what
# happened before it, too.
def own_records($document):
    . as $layer
    | if $document | is_this_machine($layer)
      then (.facts.uptime_at_ready_s // .facts.uptime_s // 0) as $start
          | [.log.records[] | select(.time_us >= $start * 1e6)]
      else .log.records end;

# On records: those that mean trouble and are not known to be harmless.
def troubled($lists):
    ([$lists.trouble[].pattern] | join("|")) as $trouble
    | ([$lists.harmless[].pattern] | join("|")) as $harmless
    | [.[] | select(.text | test($trouble)) | select(.text | test($harmless) | not)];

# On a document: its failure, if it is one of LAYER, and of that kind.
def failure_at($layer): .failure | values | select(.layer == $layer.name);
def failure_at($layer; $kind): failure_at($layer) | select(.kind == $kind);

# On a failure: why the kernel panicked, in its own words, or null.
def panic_reason:
    [.console_tail[]? | capture("Kernel panic - not syncing: (?<why>.*?)( \\]---)?$").why] | first;

# On a failure: the line of its console that says panic, and what it is beside it.
def panic_lines: [.console_tail[]? | select(test("Kernel panic"))] | .[:1];

# On a failure: is it one of the layer inside LAYER? What LAYER's libvirt and QEMU said of that layer may
# be about LAYER itself.
def is_inside($layer): .layer == "L\($layer.index + 1)";

# On a failure: could a guest not be created by LAYER or, for L0, by the machine that was to run L0?
def is_creation_by($layer):
    .phase == "create" and (is_inside($layer) or ($layer.index == 0 and .layer == $layer.name));

# On such a failure: where that was.
def maker($layer): if .layer == $layer.name then "this machine" else $layer.name end;

# On a failure: does it say so?
def says($pattern): .message | test($pattern);

# On a layer: the first lines of its kernel log that match, as evidence.
def log_lines($pattern):
    .name as $name
    | limit(2; .log.records[]? | select(.text | test($pattern)) | "\($name), kernel log: \(.text)");

# On a failure: what was seen of a layer that hangs, in a few lines.
def hang_evidence:
    [ .message,
      (.evidence | values
       | (.process | values | "its QEMU's process: \(.)"),
         ([.looks[].vcpus[]? | .symbol // .rip] | unique | select(length > 0)
          | "seen at \(.[:6] | join(", "))"),
         (.backtrace | values | [.[] | select(test("RIP: "))] | .[:1][] | "by NMI: \(.)")) ];
