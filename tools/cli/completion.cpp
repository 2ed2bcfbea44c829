// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// `zarrpoint completion`: scripts for shells. They name commands and options; what stands behind
// those is a path, and then an array in it, whose names `inspect --names` tells.

#include "commands.hpp"
#include "output.hpp"

namespace cli {

namespace {

constexpr std::string_view bash_script =
    R"SH(# bash completion for zarrpoint:  source <(zarrpoint completion bash)
_zarrpoint() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}
  local command= word path=
  local commands="inspect cat verify seal convert delta apply squash diff stats steps watch keep rm prune completion help"
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in
      inspect|cat|verify|seal|convert|delta|apply|squash|diff|stats|steps|watch|keep|rm|prune|completion|help) command=$word; break ;;
    esac
  done
  local options="--help --memory --follow-links"
  case $command in
    "")
      COMPREPLY=($(compgen -W "$commands --help --version --memory --follow-links" -- "$current"))
      return ;;
    inspect) options+=" --json --names" ;;
    verify|steps) options+=" --json" ;;
    watch) options+=" --interval --once --timeout --json" ;;
    keep) options+=" --no-longer" ;;
    rm) options+=" --force" ;;
    prune) options+=" --newest --every --best --max-age --max-size --dry-run" ;;
    cat) options+=" --slice --raw --json --npy" ;;
    convert) options+=" --to --dtype --codec --chunk --shard --only --skip --rename --strings --max-file-size --ocdbt --zarr-format --overwrite" ;;
    delta|apply|squash) options+=" --overwrite" ;;
    diff) options+=" --tolerance --json" ;;
    stats) options+=" --bins --json" ;;
    completion) COMPREPLY=($(compgen -W "bash zsh fish" -- "$current")); return ;;
    help) COMPREPLY=($(compgen -W "$commands" -- "$current")); return ;;
  esac
  case $previous in
    --to) COMPREPLY=($(compgen -W "zarr3 zarr2 orbax safetensors npz dcp torch_dist" -- "$current")); return ;;
    --codec) COMPREPLY=($(compgen -W "blosc:1 zstd:1 gzip:5 none" -- "$current")); return ;;
    --strings) COMPREPLY=($(compgen -W "metadata skip" -- "$current")); return ;;
    --ocdbt) COMPREPLY=($(compgen -W "on off" -- "$current")); return ;;
    --zarr-format) COMPREPLY=($(compgen -W "2 3" -- "$current")); return ;;
    --slice|--dtype|--chunk|--shard|--only|--skip|--rename|--max-file-size|--tolerance|--bins|--newest|--every|--best|--max-age|--max-size|--interval|--timeout|--memory) COMPREPLY=(); return ;;
  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
    return
  fi
  case $command in
    inspect|cat|stats)
      for word in "${COMP_WORDS[@]:2:COMP_CWORD-2}"; do
        word=${word/#\~/$HOME}
        if [[ -z $path && $word != -* && -e $word ]]; then path=$word; fi
      done ;;
  esac
  if [[ -n $path ]]; then
    compopt +o filenames 2>/dev/null
    COMPREPLY=()
    while IFS= read -r word; do
      if [[ $word == "$current"* ]]; then COMPREPLY+=("$(printf %q "$word")"); fi
    done < <(zarrpoint inspect --names "$path" 2>/dev/null)
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -o filenames -F _zarrpoint zarrpoint
)SH";

constexpr std::string_view zsh_script = R"SH(#compdef zarrpoint
# zsh completion for zarrpoint:  zarrpoint completion zsh > a folder of $fpath/_zarrpoint
_zarrpoint_nodes() {
  local word
  for word in ${words[2,CURRENT-1]}; do
    [[ $word == -* || ! -e ${(Q)word} ]] && continue
    compadd -- ${(f)"$(zarrpoint inspect --names ${(Q)word} 2>/dev/null)"}
    return
  done
}
_zarrpoint() {
  local -a commands
  commands=(
    'inspect:show a tree of what is in there'
    'cat:write the values of an array'
    'verify:compare everything with checksums, sizes and rules'
    'seal:accept attributes that were edited'
    'convert:write the same arrays in another format'
    'delta:write what differs between two checkpoints'
    'apply:write what a base and deltas mean'
    'squash:make one delta of several'
    'diff:tell what differs'
    'stats:tell how the values are distributed'
    'steps:list the steps of a training run'
    'watch:tell of each step as it is saved or removed'
    'keep:keep steps whatever the policy says'
    'rm:remove steps'
    'prune:remove the steps that are not to be kept'
    'completion:write a completion script'
    'help:show what a command takes'
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    _arguments '--help' '--version' '--memory[most memory to use]:size:' '--follow-links[follow symbolic links]'
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
    inspect) _arguments '--json' '--names' '--memory:size:' '--follow-links' '1:path:_files' '2:node:_zarrpoint_nodes' ;;
    cat) _arguments '--slice:slice:' '--raw' '--json' '--npy' '--memory:size:' '--follow-links' '1:path:_files' '2:node:_zarrpoint_nodes' ;;
    verify) _arguments '--json' '--memory:size:' '--follow-links' '1:path:_files' ;;
    seal) _arguments '--memory:size:' '--follow-links' '1:path:_files' ;;
    convert)
      _arguments '--to:format:(zarr3 zarr2 orbax safetensors npz dcp torch_dist)' '*--dtype:glob=type:' \
        '*--codec:codec:(blosc\:1 zstd\:1 gzip\:5 none)' '*--chunk:shape:' '*--shard:shape:' \
        '*--only:glob:' '*--skip:glob:' '*--rename:from=to:' '--strings:where:(metadata skip)' '--max-file-size:size:' \
        '--ocdbt:database:(on off)' '--zarr-format:format:(2 3)' '--overwrite' \
        '--memory:size:' '--follow-links' '1:in:_files' '2:out:_files' ;;
    delta|apply|squash) _arguments '--overwrite' '--memory:size:' '--follow-links' '*:path:_files' ;;
    diff) _arguments '--tolerance:number:' '--json' '--memory:size:' '--follow-links' '1:a:_files' '2:b:_files' ;;
    stats) _arguments '--bins:number:' '--json' '--memory:size:' '--follow-links' '1:path:_files' '2:node:_zarrpoint_nodes' ;;
    steps) _arguments '--json' '--memory:size:' '--follow-links' '1:path:_files -/' ;;
    watch)
      _arguments '--interval:time:' '--once' '--timeout:time:' '--json' '--memory:size:' '--follow-links' \
        '1:path:_files -/' ;;
    keep) _arguments '--no-longer' '--memory:size:' '--follow-links' '1:path:_files -/' '*:step:' ;;
    rm) _arguments '--force' '--memory:size:' '--follow-links' '1:path:_files -/' '*:step:' ;;
    prune)
      _arguments '--newest:number:' '--every:number:' '*--best:number\:metric\:lower:' '--max-age:time:' \
        '--max-size:size:' '--dry-run' '--memory:size:' '--follow-links' '1:path:_files -/' ;;
    completion) _arguments '1:shell:(bash zsh fish)' ;;
    help) _describe command commands ;;
  esac
}
if [ "$funcstack[1]" = _zarrpoint ]; then _zarrpoint "$@"; else compdef _zarrpoint zarrpoint; fi
)SH";

constexpr std::string_view fish_script =
    R"SH(# fish completion for zarrpoint:  zarrpoint completion fish | source
function __zarrpoint_nodes
  for word in (commandline -opc)[3..-1]
    if test -e $word
      zarrpoint inspect --names $word 2>/dev/null
      return
    end
  end
end
set -l commands inspect cat verify seal convert delta apply squash diff stats steps watch keep rm prune completion help
complete -c zarrpoint -n "not __fish_seen_subcommand_from $commands" -f -a "$commands"
complete -c zarrpoint -n "not __fish_seen_subcommand_from $commands" -l version -d 'show the version'
complete -c zarrpoint -l help -d 'show help'
complete -c zarrpoint -l memory -x -d 'most memory to use'
complete -c zarrpoint -l follow-links -d 'follow symbolic links'
complete -c zarrpoint -n '__fish_seen_subcommand_from inspect cat verify diff stats steps watch' -l json -d 'write JSON'
complete -c zarrpoint -n '__fish_seen_subcommand_from inspect' -l names -d 'names of the arrays only'
complete -c zarrpoint -n '__fish_seen_subcommand_from inspect cat stats' -a '(__zarrpoint_nodes)' -d array
complete -c zarrpoint -n '__fish_seen_subcommand_from help' -f -a "$commands"
complete -c zarrpoint -n '__fish_seen_subcommand_from cat' -l slice -x -d 'part as numpy writes it'
complete -c zarrpoint -n '__fish_seen_subcommand_from cat' -l raw -d 'elements only'
complete -c zarrpoint -n '__fish_seen_subcommand_from cat' -l npy -d 'an npy file'
complete -c zarrpoint -n '__fish_seen_subcommand_from convert' -l to -x -a 'zarr3 zarr2 orbax safetensors npz dcp torch_dist'
complete -c zarrpoint -n '__fish_seen_subcommand_from convert' -l dtype -x -d 'GLOB=T'
complete -c zarrpoint -n '__fish_seen_subcommand_from convert' -l codec -x -a 'blosc:1 zstd:1 gzip:5 none'
complete -c zarrpoint -n '__fish_seen_subcommand_from convert' -l chunk -x -d 'chunk shape'
complete -c zarrpoint -n '__fish_seen_subcommand_from convert' -l shard -x -d 'shard shape'
complete -c zarrpoint -n '__fish_seen_subcommand_from convert' -l only -x -d 'arrays that match'
complete -c zarrpoint -n '__fish_seen_subcommand_from convert' -l skip -x -d 'but not those that match'
complete -c zarrpoint -n '__fish_seen_subcommand_from convert' -l rename -x -d 'FROM=TO'
complete -c zarrpoint -n '__fish_seen_subcommand_from convert' -l strings -x -a 'metadata skip'
complete -c zarrpoint -n '__fish_seen_subcommand_from convert' -l max-file-size -x
complete -c zarrpoint -n '__fish_seen_subcommand_from convert' -l ocdbt -x -a 'on off'
complete -c zarrpoint -n '__fish_seen_subcommand_from convert' -l zarr-format -x -a '2 3'
complete -c zarrpoint -n '__fish_seen_subcommand_from convert' -l overwrite -d 'replace what is there'
complete -c zarrpoint -n '__fish_seen_subcommand_from delta apply squash' -l overwrite -d 'replace a checkpoint'
complete -c zarrpoint -n '__fish_seen_subcommand_from diff' -l tolerance -x -d 'largest difference that does not count'
complete -c zarrpoint -n '__fish_seen_subcommand_from stats' -l bins -x -d 'bins of the histogram'
complete -c zarrpoint -n '__fish_seen_subcommand_from watch' -l interval -x -d 'how often to look'
complete -c zarrpoint -n '__fish_seen_subcommand_from watch' -l once -d 'end after the first new step'
complete -c zarrpoint -n '__fish_seen_subcommand_from watch' -l timeout -x -d 'end after so long'
complete -c zarrpoint -n '__fish_seen_subcommand_from keep' -l no-longer -d 'leave them to the policy'
complete -c zarrpoint -n '__fish_seen_subcommand_from rm' -l force -d 'the newest and kept ones, too'
complete -c zarrpoint -n '__fish_seen_subcommand_from prune' -l newest -x -d 'keep the newest so many'
complete -c zarrpoint -n '__fish_seen_subcommand_from prune' -l every -x -d 'keep multiples of this step'
complete -c zarrpoint -n '__fish_seen_subcommand_from prune' -l best -x -d 'M:METRIC:lower or higher'
complete -c zarrpoint -n '__fish_seen_subcommand_from prune' -l max-age -x -d 'such as 7d'
complete -c zarrpoint -n '__fish_seen_subcommand_from prune' -l max-size -x -d 'such as 500G'
complete -c zarrpoint -n '__fish_seen_subcommand_from prune' -l dry-run -d 'only list what would go'
complete -c zarrpoint -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'
)SH";

}  // namespace

exit_status run_completion(const std::string& shell) {
  const auto status = put(shell == "bash"  ? bash_script
                          : shell == "zsh" ? zsh_script
                                           : fish_script);
  if (!status) return fail(status.failure());
  return exit_status::ok;
}

}  // namespace cli
