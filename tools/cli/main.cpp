// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The command `zarrpoint`: parses the command line and calls one of the commands.

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/array/base/scratch_pool.hpp>
#include <zarrpoint/codec/lists/all_codecs.hpp>
#if defined(ZARRPOINT_CLI_ZFP)
#include <zarrpoint/zfp.hpp>
#endif
#if defined(ZARRPOINT_CLI_CURL)
#include <zarrpoint/cache.hpp>
#include <zarrpoint/curl.hpp>
#include <zarrpoint/gcs.hpp>
#include <zarrpoint/s3.hpp>
#if defined(ZARRPOINT_CLI_OPENSSL)
#include <zarrpoint/gcs_openssl.hpp>
#endif
#endif
#include <zarrpoint/formats.hpp>
#include <zarrpoint/store/zip_inflate.hpp>
#include <zarrpoint/version.hpp>

#include "commands.hpp"
#include "files.hpp"
#include "output.hpp"
#include "suggest.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <CLI/CLI.hpp>

#if __has_include(<malloc.h>)
#include <malloc.h>
#endif
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace cli {

namespace {

zp::stop_source& interrupt() {
  static zp::stop_source source;
  return source;
}

/// The first interrupt ends the work in good order, so that nothing unfinished is left behind; a
/// second one ends it at once.
void on_interrupt(int signal) {
  interrupt().request_stop();
  struct ::sigaction plain {};
  plain.sa_handler = SIG_DFL;
  ::sigaction(signal, &plain, nullptr);
}

void catch_interrupt() {
  interrupt();
  struct ::sigaction action {};
  action.sa_handler = on_interrupt;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct ::sigaction before {};
    // What the caller ignores, as nohup does, stays ignored.
    if (::sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
      ::sigaction(signal, &action, nullptr);
  }
}

/// Half of the machine's memory: what a file asks for beyond that is not its to ask.
std::uint64_t default_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long size = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || size <= 0) return std::uint64_t{2} << 30;
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size) / 2;
}

/// What `--follow-links` says.
zp::link_scope scope_of(std::string_view links) {
  if (links == "anywhere") return zp::link_scope::anywhere;
  return links.empty() ? zp::link_scope::none : zp::link_scope::beneath_root;
}

#if defined(ZARRPOINT_CLI_CURL)
/// Servers, by libcurl, with a cache if there is one.
struct server_access : zp::curl_access {
  static std::optional<zp::read_cache>& cache() {
    static std::optional<zp::read_cache> one;
    return one;
  }
  static zp::http_store_options options() {
    zp::http_store_options how;
    if (cache()) how.cache = *cache();
    return how;
  }
  static zp::s3_options s3() {
    zp::s3_options how;
    if (cache()) how.cache = *cache();
    return how;
  }
  static zp::gcs_options gcs() {
    zp::gcs_options how;
    if (cache()) how.cache = *cache();
#if defined(ZARRPOINT_CLI_OPENSSL)
    how.login = zp::gcs_login::automatic(&zp::openssl_rs256);
#endif
    return how;
  }
};
#endif

/// The cache that the environment asks for.
zp::result<void> open_cache() {
#if defined(ZARRPOINT_CLI_CURL)
  const char* const folder = std::getenv("ZARRPOINT_CACHE");
  const char* const size = std::getenv("ZARRPOINT_CACHE_SIZE");
  if (folder == nullptr || *folder == '\0') return {};
  zp::read_cache_options how{.folder = folder};
  if (size != nullptr && !parse_bytes(size, how.bytes))
    return zp::error{zp::errc::invalid_argument, "ZARRPOINT_CACHE_SIZE: \"" + std::string(size) +
                                                     "\" must be a size such as 512M or 64G"};
  ZARRPOINT_TRY(made, zp::read_cache::open(how));
  server_access::cache() = std::move(made);
#endif
  return {};
}

zp::context make_context(std::uint64_t memory, std::string_view links) {
  zp::context how = zp::default_context();
#if defined(ZARRPOINT_CLI_ZFP)
  how.codecs = zp::all_codecs::with<zp::zfp_codec, zp::zfpy_codec>::table();
#else
  how.codecs = zp::all_codecs::table();
#endif
  followed_links() = scope_of(links);
  how.stores =
      zp::all_formats<zp::numpy::inflating_format<zp::zip_inflate>, zp::zip_inflate_scheme,
#if defined(ZARRPOINT_CLI_CURL)
                      zp::http_scheme_by<server_access>, zp::https_scheme_by<server_access>,
                      zp::s3_scheme_by<server_access>, zp::gs_scheme_by<server_access>,
#endif
                      delta_of_all_codecs>()
          .following(followed_links());
  how.limit.memory = static_cast<std::size_t>(memory);
  how.limit.bytes_in_flight =
      std::min(how.limit.bytes_in_flight, static_cast<std::size_t>(memory / 2));
  how.stop = interrupt().token();
  return with_scratch(how);
}

std::string version_text() {
  return "zarrpoint " + std::to_string(ZARRPOINT_VERSION_MAJOR) + '.' +
         std::to_string(ZARRPOINT_VERSION_MINOR) + '.' + std::to_string(ZARRPOINT_VERSION_PATCH);
}

constexpr const char* exit_text =
    "Exit status: 0 done (verify: no fault, diff: the same); 1 verify found faults, diff found "
    "differences; 2 bad usage or an error; 3 verify could not check all, or found nothing to "
    "check; 130 interrupted.\n"
    "Documentation: docs/cli.md, and the manual page zarrpoint(1).";

/// The command line: what each command takes, and which one was asked for.
struct command_line {
  CLI::App app{
      "Looks into tensor checkpoints, checks, converts and compares them: Zarr v2 and v3, "
      "checkpoints of Orbax and PyTorch, OCDBT, safetensors, GGUF, torch.save, npy and npz.",
      "zarrpoint"};
  std::function<exit_status(const zp::context&)> chosen;
  std::string memory;
  std::string links;

  inspect_arguments inspect;
  cat_arguments cat;
  verify_arguments verify;
  seal_arguments seal;
  convert_arguments convert;
  delta_arguments delta;
  diff_arguments diff;
  stats_arguments stats;
  steps_arguments steps;
  watch_arguments watch;
  keep_arguments keep;
  rm_arguments rm;
  prune_arguments prune;
  std::string shell;
  std::string slice;

  command_line() {
    app.require_subcommand(1);
    app.set_version_flag("--version", version_text());
    app.footer(exit_text);
    app.add_option("--memory", memory,
                   "Most memory to use, e.g. 512M or 4G (default: half of the machine's)")
        ->type_name("SIZE");
    app.add_flag("--follow-links{beneath}", links,
                 "Follow symbolic links in a directory that is read, if they stay in it; "
                 "--follow-links=anywhere follows all")
        ->check(CLI::IsMember({"beneath", "anywhere"}));
    app.fallthrough();
    add_inspect();
    add_cat();
    add_verify();
    add_seal();
    add_convert();
    add_delta();
    add_diff();
    add_stats();
    add_steps();
    add_prune();
    add_completion();
    add_help();
  }
  command_line(const command_line&) = delete;
  command_line& operator=(const command_line&) = delete;

 private:
  CLI::App* add(const char* name, const char* help,
                std::function<exit_status(const zp::context&)> run) {
    CLI::App* command = app.add_subcommand(name, help);
    command->callback([this, run = std::move(run)] { chosen = run; });
    return command;
  }
  static void add_place(CLI::App* to, std::string& path, std::string& node) {
    to->add_option(
          "PATH", path,
          "Checkpoint (also of Orbax or PyTorch), Zarr hierarchy or array, OCDBT database, "
          ".safetensors, "
          ".safetensors.index.json, .gguf, .npy, .npz or a file of torch.save")
        ->required();
    to->add_option("NODE", node, "Array or group in it, e.g. layers/0/w");
  }
  static void add_json(CLI::App* to, bool& json, const char* help = "Write JSON") {
    to->add_flag("--json", json, help);
  }

  void add_inspect() {
    CLI::App* to = add("inspect", "Show a tree of what is in there, without reading an element",
                       [this](const zp::context& how) {
                         inspect.links = scope_of(links);
                         return run_inspect(inspect, how);
                       });
    add_place(to, inspect.path, inspect.node);
    add_json(to, inspect.json);
    to->add_flag("--names", inspect.names, "Only the names of the arrays, one a line")
        ->excludes("--json");
  }
  void add_cat() {
    CLI::App* to = add("cat", "Write the values of an array",
                       [this](const zp::context& how) { return run_cat(cat, how); });
    add_place(to, cat.path, cat.node);
    to->add_option_function<std::string>(
          "--slice", [this](const std::string& text) { cat.slice = text; },
          "Part of it as numpy writes it, e.g. \"0:3,:,::2\"")
        ->type_name("SLICE");
    auto* raw = to->add_flag("--raw", cat.raw,
                             "Elements only: C order, little endian, sub-byte types one a byte");
    auto* json = to->add_flag("--json", cat.json,
                              "Nested lists; \"NaN\", \"Infinity\" and \"-Infinity\" are strings");
    auto* npy = to->add_flag("--npy", cat.npy, "An npy file");
    raw->excludes(json)->excludes(npy);
    json->excludes(npy);
  }
  void add_verify() {
    CLI::App* to = add("verify", "Read everything and compare it with checksums, sizes and rules",
                       [this](const zp::context& how) { return run_verify(verify, how); });
    to->add_option("PATH", verify.path, "What to verify")->required();
    add_json(to, verify.json);
  }
  void add_seal() {
    CLI::App* to = add("seal", "Accept attributes that another program edited in a checkpoint",
                       [this](const zp::context& how) { return run_seal(seal, how); });
    to->add_option("PATH", seal.path, "A checkpoint of zarrpoint's, in a directory")->required();
  }
  void add_convert() {
    CLI::App* to = add("convert", "Write the same arrays in another format, bit by bit",
                       [this](const zp::context& how) {
                         convert.links = scope_of(links);
                         return run_convert(convert, how);
                       });
    to->add_option("IN", convert.in, "What to read")->required();
    to->add_option("OUT", convert.out, "What to write; not there yet, unless --overwrite is given")
        ->required();
    to->add_option(
          "--to", convert.to,
          "zarr3, zarr2, orbax, safetensors, npz, dcp or torch_dist (default: by the name)")
        ->check(
            CLI::IsMember({"zarr3", "zarr2", "orbax", "safetensors", "npz", "dcp", "torch_dist"}));
    to->add_option("--dtype", convert.casts, "Cast arrays that match, e.g. \"**=bfloat16\"")
        ->type_name("GLOB=T")
        ->expected(1)
        ->take_all();
    to->add_option("--codec", convert.codecs,
                   "blosc[:LEVEL], zstd[:LEVEL], gzip[:LEVEL] or none (default; for orbax zstd)")
        ->type_name("[GLOB=]CODEC")
        ->expected(1)
        ->take_all();
    to->add_option("--chunk", convert.chunks, "Chunk shape, e.g. 256,256 (zarr3)")
        ->type_name("[GLOB=]N,N")
        ->expected(1)
        ->take_all();
    to->add_option("--shard", convert.shards, "Shard shape, e.g. 4096,4096 (zarr3)")
        ->type_name("[GLOB=]N,N")
        ->expected(1)
        ->take_all();
    to->add_option("--only", convert.only, "Convert the arrays that match, e.g. \"layers/**\"")
        ->type_name("GLOB")
        ->expected(1)
        ->take_all();
    to->add_option("--skip", convert.skip, "Leave out those that match")
        ->type_name("GLOB")
        ->expected(1)
        ->take_all();
    to->add_option("--rename", convert.renames,
                   "Array, group or glob, e.g. \"model=encoder\" or \"h.*.w=layers/*/w\"")
        ->type_name("FROM=TO")
        ->expected(1)
        ->take_all();
    to->add_option("--strings", convert.strings,
                   "Strings for safetensors: metadata (default, into __metadata__) or skip")
        ->check(CLI::IsMember({"metadata", "skip"}));
    to->add_option("--max-file-size", convert.max_file_size,
                   "For safetensors: OUT is a directory of files with arrays of at most so much "
                   "each, e.g. 5G, and an index")
        ->type_name("SIZE");
    to->add_option("--ocdbt", convert.ocdbt, "For orbax: in an OCDBT database (default: on)")
        ->check(CLI::IsMember({"on", "off"}));
    to->add_option("--zarr-format", convert.zarr_format, "For orbax: 2 or 3 (default)")
        ->check(CLI::IsMember({2, 3}));
    to->add_flag(
        "--overwrite", convert.overwrite,
        "Replace a whole checkpoint of the format that is written, or a file, in one step");
  }
  void add_delta() {
    CLI::App* to = add("delta", "Write what differs between two checkpoints, to send or to keep",
                       [this](const zp::context& how) { return run_delta(delta, how); });
    to->add_option("PATHS", delta.paths, "What there is, what it becomes, what to write")
        ->required()
        ->expected(3)
        ->type_name("BASE NEW OUT");
    CLI::App* applied =
        add("apply", "Write what a base and deltas that follow it mean, as a whole checkpoint",
            [this](const zp::context& how) { return run_apply(delta, how); });
    CLI::App* squashed = add("squash", "Make one delta of several that follow each other",
                             [this](const zp::context& how) { return run_squash(delta, how); });
    for (CLI::App* each : {applied, squashed})
      each->add_option("PATHS", delta.paths, "BASE, the deltas in their order, what to write")
          ->required()
          ->expected(3, 10'000)
          ->type_name("BASE DELTA... OUT");
    for (CLI::App* each : {to, applied, squashed})
      each->add_flag("--overwrite", delta.overwrite,
                     "Replace a whole checkpoint at OUT, such as BASE, in one step");
  }
  void add_diff() {
    CLI::App* to = add("diff", "Tell what differs: names, dtypes, shapes, values",
                       [this](const zp::context& how) { return run_diff(diff, how); });
    to->add_option("A", diff.a, "The one")->required();
    to->add_option("B", diff.b, "The other")->required();
    to->add_option(
          "--tolerance", diff.tolerance,
          "Values differ only if |a - b| is larger; 0 for equal values (default: bit by bit)")
        ->check([](const std::string& text) -> std::string {
          double value = -1;
          return CLI::detail::lexical_cast(text, value) && value >= 0
                     ? ""
                     : "expected a number of 0 or more";
        });
    add_json(to, diff.json);
  }
  void add_stats() {
    CLI::App* to = add("stats", "Tell how the values are distributed, and how they compress",
                       [this](const zp::context& how) { return run_stats(stats, how); });
    add_place(to, stats.path, stats.node);
    to->add_option("--bins", stats.bins, "Bins of the histogram")->check(CLI::Range(1, 200));
    add_json(to, stats.json);
  }
  void add_steps() {
    constexpr const char* run = "Directory of the steps of a training run";
    CLI::App* to = add("steps", "List the steps of a training run",
                       [this](const zp::context& how) { return run_steps(steps, how); });
    to->add_option("DIR", steps.path, run)->required();
    add_json(to, steps.json);
    to = add("watch", "Tell of each step as it is saved or removed",
             [this](const zp::context& how) { return run_watch(watch, how); });
    to->add_option("DIR", watch.path, run)->required();
    to->add_option("--interval", watch.interval, "How often to look (default: 2s)")
        ->type_name("TIME");
    to->add_flag("--once", watch.once, "End after the first step that is saved from now on");
    to->add_option("--timeout", watch.timeout, "End after so long, e.g. 10m; with --once as 1")
        ->type_name("TIME");
    add_json(to, watch.json);
    to = add("keep", "Keep steps, whatever the policy of their manager says",
             [this](const zp::context& how) { return run_keep(keep, how); });
    to->add_option("DIR", keep.path, run)->required();
    to->add_option("STEP", keep.steps, "Numbers of steps")->required();
    to->add_flag("--no-longer", keep.no_longer, "Leave them to the policy again");
    to = add("rm", "Remove steps that a manager wrote",
             [this](const zp::context& how) { return run_rm(rm, how); });
    to->add_option("DIR", rm.path, run)->required();
    to->add_option("STEP", rm.steps, "Numbers of steps")->required();
    to->add_flag("--force", rm.force, "The newest whole step and kept ones, too");
  }
  void add_prune() {
    CLI::App* to = add("prune", "Remove the steps that are not to be kept",
                       [this](const zp::context& how) { return run_prune(prune, how); });
    to->add_option("DIR", prune.path, "Directory of the steps of a training run")->required();
    to->add_option("--newest", prune.newest, "Keep the newest so many")->type_name("N");
    to->add_option("--every", prune.every, "Keep multiples of this step")->type_name("N");
    to->add_option("--best", prune.best, "Keep the best by a metric, e.g. 3:loss:lower")
        ->type_name("M:METRIC:lower|higher")
        ->expected(1)
        ->take_all();
    to->add_option("--max-age", prune.max_age, "Of these keep none that is older, e.g. 12h or 7d")
        ->type_name("TIME");
    to->add_option("--max-size", prune.max_size,
                   "Of these keep the newest that fit together, e.g. 500G")
        ->type_name("SIZE");
    to->add_flag("--dry-run", prune.dry_run, "Only list what would go, and why");
  }
  void add_completion() {
    CLI::App* to = add("completion", "Write a completion script for a shell",
                       [this](const zp::context&) { return run_completion(shell); });
    to->add_option("SHELL", shell, "bash, zsh or fish")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  }
  /// For those who look for it: `run` turns it into the option.
  void add_help() {
    CLI::App* to = add("help", "Show what a command takes, as its --help does", nullptr);
    to->add_option("COMMAND", "One of the commands");
  }
};

exit_status usage(const std::string& message) {
  std::fprintf(stderr, "%s %s\nzarrpoint --help tells more.\n",
               painted_error("zarrpoint:", paint::red).c_str(), escaped(message, false).c_str());
  return exit_status::failed;
}

std::vector<std::string_view> commands_of(const CLI::App& app) {
  std::vector<std::string_view> out;
  for (const CLI::App* command : app.get_subcommands({})) out.push_back(command->get_name());
  return out;
}

std::string no_command(std::string_view word, const std::vector<std::string_view>& known) {
  return '"' + std::string(word) + "\" is not a command" + suggestion(word, "commands", known);
}

/// What is wrong with a command line: of a mistyped word the nearest one and all there are.
std::string complaint(const CLI::App& app, const CLI::ParseError& wrong, int count, char** words) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const std::vector<std::string_view> given(words + std::min(count, 1), words + count);
  std::vector<std::string_view> known = commands_of(app);
  if (chosen.empty()) {
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i] == "--memory")
        ++i;  // and its value
      else if (!given[i].starts_with('-'))
        return no_command(given[i], known);
    }
    if (wrong.get_exit_code() == static_cast<int>(CLI::ExitCodes::RequiredError))
      return "no command was given" + suggestion("", "commands", known);
  }
  if (wrong.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError)) return wrong.what();
  const CLI::App& of = chosen.empty() ? app : *chosen[0];
  std::vector<std::string> names;
  for (const CLI::App* each : {&of, &app}) {
    for (const CLI::Option* option : each->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  known.assign(names.begin(), names.end());
  for (std::string_view word : given) {
    word = word.substr(0, word.find('='));
    if (word.starts_with("--") && std::find(known.begin(), known.end(), word) == known.end())
      return '"' + std::string(word) + "\" is not an option" + suggestion(word, "options", known);
  }
  return wrong.what();
}

exit_status run(int count, char** words) {
  command_line line;
  // "help convert" is "convert --help".
  std::vector<char*> asked_for_help(words, words + count);
  std::string flag = "--help";
  if (count > 1 && std::string_view(words[1]) == "help") {
    const std::vector<std::string_view> known = commands_of(line.app);
    if (count > 2 && words[2][0] != '-' &&
        std::find(known.begin(), known.end(), words[2]) == known.end())
      return usage(no_command(words[2], known));
    asked_for_help.erase(asked_for_help.begin() + 1);
    asked_for_help.resize(std::min<std::size_t>(asked_for_help.size(), 2));
    asked_for_help.push_back(flag.data());
    count = static_cast<int>(asked_for_help.size());
    words = asked_for_help.data();
  }
  try {
    line.app.parse(count, words);
  } catch (const CLI::Success& asked) {  // --help and --version
    line.app.exit(asked);
    return exit_status::ok;
  } catch (const CLI::ParseError& wrong) {
    return usage(complaint(line.app, wrong, count, words));
  }
  std::uint64_t memory = default_memory();
  if (!line.memory.empty() && (!parse_bytes(line.memory, memory) || memory < (1U << 20)))
    return usage("--memory: \"" + line.memory +
                 "\" must be a size of at least 1M, such as 512M or 4G");
  // What verify says is said of what lies there.
  if (!line.app.got_subcommand("verify")) {
    if (const auto opened = open_cache(); !opened) return usage(opened.failure().message);
  }
  catch_interrupt();
  const exit_status status = line.chosen(make_context(memory, line.links));
  if (const auto flushed = flush(); !flushed) return fail(flushed.failure());
  return status;
}

/// The words of the library about a URL that it has no store for, in those of the command.
std::string message_of(const zp::error& failure) {
  std::string text = to_string(failure);
  const std::size_t begin = text.find("no store for \"");
  const std::size_t end = text.find("; context::stores has");
  if (begin == text.npos || end == text.npos || end < begin) return text;
  text.erase(end);
  const std::string_view scheme = std::string_view(text).substr(begin + 14);
  const bool is_remote =
      scheme.starts_with("http") || scheme.starts_with("s3:") || scheme.starts_with("gs:");
#if defined(ZARRPOINT_CLI_CURL)
  constexpr bool has_remote = true;
#else
  constexpr bool has_remote = false;
#endif
  if (is_remote && !has_remote)
    return text +
           ": this zarrpoint was built without libcurl, which URLs need; build it where "
           "libcurl4-openssl-dev is installed, or copy the checkpoint to a path";
  return text + ": " +
         (has_remote ? "URLs begin with https://, http://, s3:// or gs://" : "give a path");
}

/// Which option follows the symbolic link that an error tells of.
std::string_view link_advice(std::string_view message) {
  if (message.find("links are not followed") != message.npos)
    return "; --follow-links follows those that stay in the directory, --follow-links=anywhere all";
  if (message.find("a symbolic link leads out of the store") != message.npos)
    return "; --follow-links=anywhere follows it";
  return {};
}

}  // namespace

exit_status fail(const zp::error& failure) {
  if (interrupt().stop_requested()) {
    std::fprintf(stderr, "zarrpoint: interrupted\n");
    return exit_status::stopped;
  }
  std::fprintf(
      stderr, "%s %s\n", painted_error("zarrpoint:", paint::red).c_str(),
      escaped(message_of(failure) + std::string(link_advice(failure.message)), false).c_str());
  return exit_status::failed;
}

}  // namespace cli

int main(int count, char** words) {
#if defined(M_MMAP_THRESHOLD)
  // Blocks that were freed go back at once: glibc's heap does not use aligned ones again, and would
  // grow by every array that is converted.
  ::mallopt(M_MMAP_THRESHOLD, 64 << 10);
#endif
  try {
    return static_cast<int>(cli::run(count, words));
  } catch (const std::exception& problem) {  // of the standard library: no memory
    std::fprintf(stderr, "zarrpoint: %s\n", problem.what());
    return static_cast<int>(cli::exit_status::failed);
  }
}
