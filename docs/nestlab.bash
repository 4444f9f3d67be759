# nestlab.bash - bash completion for nestlab(1); needs the package bash-completion.
#
# Layers and ids come from `nestlab list --json`, by jq where it is installed; without it there are
# the names L0 to L3 and no ids. tests/docs-check compares the options with what --help prints.

_nestlab_commands="run up list shell console down doctor profile gc build validate report compare history diagnose"
_nestlab_stack_options="--depth --timeout --kernel --modules --kernel-arg --deb --qemu --machine --cpu
    --memory --vcpus"
_nestlab_scenario_options="--l0 --no-benchmarks --meter --exit-reasons $_nestlab_stack_options"
_nestlab_common_options="--help --usage"

declare -gA _nestlab_options=(
    [run]="--out --store --enable-nesting --quiet --keep $_nestlab_scenario_options"
    [up]="--out --store --enable-nesting --quiet --l0 $_nestlab_stack_options"
    [list]="--json"
    [shell]="--run --print --timeout"
    [console]="--run --lines --no-follow"
    [down]="--all --force --run"
    [doctor]="--json --in --store"
    [profile]="--at --out --store --quiet $_nestlab_stack_options"
    [gc]="--dry-run --images --older-than --json --store"
    [build]="--refresh --json --store"
    [validate]="--json $_nestlab_scenario_options"
    [report]="--text --html --junit --csv --check"
    [compare]="--with --fail-above --alpha --force --html --csv --json"
    [history]="--benchmark --at --last --alpha --html --csv --document --json"
    [diagnose]="--json --rules --min-severity --explain --list-rules"
)

# Short options that take a value, by command: what follows one is no operand.
declare -gA _nestlab_short_with_value=(
    [run]=os [up]=os [shell]=rt [console]=rn [down]=r [doctor]=is [profile]=os [gc]=s [build]=s
)

# _nestlab_program WORD: the program that is being completed, as a path.
_nestlab_program()
{
    type -P -- "${1/#\~/$HOME}"
}

# _nestlab_running PROGRAM FILTER [ID]: the jq FILTER over the stacks that are up (whose id starts
# with ID).
_nestlab_running()
{
    type -P jq >/dev/null || return
    "$1" list --json 2>/dev/null |
        jq -r --arg id "${3-}" ".[] | select(.alive and (.id | startswith(\$id))) | $2" 2>/dev/null
}

_nestlab_layers()
{
    local layers
    layers=$(_nestlab_running "$1" '.state.layers[]?.name' "${2-}" | sort -u)
    printf '%s\n' "${layers:-L0 L1 L2 L3}"
}

# Recipes are where nl_data_path() finds them.
_nestlab_recipes()
{
    local folder file
    folder=$(dirname -- "$(readlink -f -- "$1")")
    for folder in "${NESTLAB_DATA-}" "$folder/.." "$folder/../share/nestlab"; do
        [[ -n $folder && -d $folder/images ]] || continue
        for file in "$folder"/images/*.json; do
            file=${file##*/}
            [[ $file == *.schema.json ]] || printf '%s\n' "${file%.json}"
        done
        return
    done
}

_nestlab_rules()
{
    type -P jq >/dev/null || return
    "$1" diagnose --list-rules --json 2>/dev/null | jq -r '.[].rule'
}

# LN=VALUE: first a layer, then what KIND of value: file, folder, deb or words to choose from.
_nestlab_assignment()
{
    if [[ $cur != *=* ]]; then
        mapfile -t COMPREPLY < <(compgen -S = -W "L0 L1 L2 L3 innermost" -- "$cur")
        compopt -o nospace
        return
    fi
    cur=${cur#*=}
    case $1 in
    file) _filedir ;;
    folder) _filedir -d ;;
    deb) _filedir deb ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur") ;;
    esac
}

# The value of option $prev of $command; false if it takes none.
_nestlab_value()
{
    local program=$1 command=$2

    case $prev in
    --out | --store) _filedir -d ;;
    --html) _filedir html ;;
    --junit) _filedir xml ;;
    --csv) _filedir csv ;;
    --fail-above | --alpha | --last | --benchmark | --document) ;;
    --rules) _filedir -d ;;
    --min-severity) mapfile -t COMPREPLY < <(compgen -W "ok harmless warning error" -- "$cur") ;;
    --explain) mapfile -t COMPREPLY < <(compgen -W "$(_nestlab_rules "$program")" -- "$cur") ;;
    --l0) mapfile -t COMPREPLY < <(compgen -W "emulated local auto" -- "$cur") ;;
    --depth | --timeout | --lines | --older-than) ;;
    --kernel) _nestlab_assignment file ;;
    --qemu) _nestlab_assignment file ;;
    --modules) _nestlab_assignment folder ;;
    --deb) _nestlab_assignment deb ;;
    --machine) _nestlab_assignment "pc q35" ;;
    --cpu) _nestlab_assignment "host-passthrough host-model maximum EPYC" ;;
    --kernel-arg | --memory | --vcpus) _nestlab_assignment "" ;;
    --at) mapfile -t COMPREPLY < <(compgen -W "L0 L1 L2 innermost" -- "$cur") ;;
    --in) mapfile -t COMPREPLY < <(compgen -W "$(_nestlab_layers "$program")" -- "$cur") ;;
    --run) mapfile -t COMPREPLY < <(compgen -W "$(_nestlab_running "$program" .id)" -- "$cur") ;;
    -[a-z])
        [[ ${_nestlab_short_with_value[$command]-} == *"${prev#-}"* ]] || return 1
        case $prev in
        -o | -s) _filedir -d ;;
        -i) mapfile -t COMPREPLY < <(compgen -W "$(_nestlab_layers "$program")" -- "$cur") ;;
        -r) mapfile -t COMPREPLY < <(compgen -W "$(_nestlab_running "$program" .id)" -- "$cur") ;;
        esac
        ;;
    *) return 1 ;;
    esac
}

# Words before the cursor: sets `operands`, how many are no options, and `id`, what --run got.
_nestlab_scan()
{
    local i word

    for ((i = 2; i < cword; i++)); do
        word=${words[i]}
        case $word in
        --run | -r) id=${words[++i]-} ;;
        --run=*) id=${word#*=} ;;
        --*=*) ;;
        --out | --store | --l0 | --depth | --timeout | --kernel | --modules | --kernel-arg | --deb | \
            --qemu | --machine | --cpu | --memory | --vcpus | --lines | --older-than | --html | --junit | --in | --at | \
            --rules | --min-severity | --explain | --fail-above | --alpha | --csv | --last | --benchmark | \
            --document) ((++i)) ;;
        --*) ;;
        -[a-z]) [[ ${_nestlab_short_with_value[$command]-} != *"${word#-}"* ]] || ((++i)) ;;
        -?*) ;;
        *) ((++operands)) ;;
        esac
    done
}

_nestlab()
{
    local cur prev words cword split program command id="" operands=0
    _init_completion -s || return

    if ((cword == 1)); then
        mapfile -t COMPREPLY < <(compgen -W "$_nestlab_commands --help --version" -- "$cur")
        return
    fi
    command=${words[1]}
    [[ -n ${_nestlab_options[$command]-} ]] || return
    program=$(_nestlab_program "${words[0]}") || return
    _nestlab_scan
    # What follows the layer is a command line inside it.
    [[ $command == shell && $operands -gt 0 ]] && return
    _nestlab_value "$program" "$command" && return
    $split && return
    if [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(
            compgen -W "${_nestlab_options[$command]} $_nestlab_common_options" -- "$cur"
        )
        return
    fi
    case $command in
    run | up | validate | report | compare) _filedir json ;;
    diagnose) _filedir ;;
    history) if ((operands == 0)); then _filedir -d; else _filedir json; fi ;;
    profile) ((operands == 0)) || _filedir json ;;
    shell | console)
        ((operands == 0)) || return
        mapfile -t COMPREPLY < <(compgen -W "$(_nestlab_layers "$program" "$id")" -- "$cur")
        ;;
    down | doctor) mapfile -t COMPREPLY < <(compgen -W "$(_nestlab_running "$program" .id)" -- "$cur") ;;
    build) mapfile -t COMPREPLY < <(compgen -W "$(_nestlab_recipes "$program")" -- "$cur") ;;
    esac
} && complete -F _nestlab nestlab
