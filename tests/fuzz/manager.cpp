// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The state of a manager: marks of steps, and what lies in its directory. An even first byte: what
// follows is the text of a mark, as it stands in a step with items. An odd one: edits of a run that
// is whole. Each has a first byte that says what is edited:
//
//   0 to 3   a document: two bytes for the place, one for the new value; 2 and 3 seal it again
//   4        a file is gone; 5 a file is cut; one byte says which
//   6        a step has another name; 7 a note is there; one byte each for which, and the text

#include <zarrpoint/checkpoint/document/commit_document.hpp>
#include <zarrpoint/checkpoint/load/load_all.hpp>
#include <zarrpoint/manager.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarrpoint.hpp>

#include "fuzz.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace fuzz;

using words = std::vector<std::uint16_t>;
using objects = std::map<std::string, std::vector<std::byte>>;

void collect(const zp::memory_store& from, const std::string& beneath, objects& to) {
  const zp::store_key at = beneath.empty() ? zp::store_key::root() : key(beneath);
  for (const zp::list_entry& one : from.list(at).value()) {
    const std::string path = beneath.empty() ? one.name : beneath + '/' + one.name;
    if (one.is_prefix)
      collect(from, path, to);
    else
      to[path] = zp::get(from, key(path), 1 << 20).value().value();
  }
}

zp::manager_options options_of() {
  zp::manager_options out{
      .keep = zp::keep_policy::newest(2) | zp::keep_policy::best(1, "loss", zp::better::lower),
      .whole_when = zp::save_policy::every_steps(10),
      .background = false};
  out.storage.rules = {{.glob = "w", .chunk_shape = zp::dims{100}, .shard_shape = zp::dims{300}}};
  out.how = bounded();
  return out;
}

words words_of(std::int64_t step) {
  words out(300, 7);
  for (std::size_t i = 0; i < out.size(); i += 37) out[i] = static_cast<std::uint16_t>(step);
  return out;
}

/// Two whole steps, a delta on each, and one with items.
const objects& whole_run() {
  static const objects made = [] {
    const zp::memory_store store;
    zp::manager_options options = options_of();
    options.keep = zp::keep_policy::all();
    auto manager = zp::checkpoint_manager::open(zp::location(store), options).value();
    for (const std::int64_t step : {5, 6, 10, 11}) {
      const words w = words_of(step);
      manager.save(step, {{"w", w}}, {{"loss", 1.0 / static_cast<double>(step)}}).value();
    }
    const words w = words_of(12);
    manager.save_items(12, {{.name = "m", .leaves = {{"w", w}}}, {.name = "a.json", .document = 7}})
        .value();
    manager.close().value();
    objects out;
    collect(store, "", out);
    return out;
  }();
  return made;
}

void seal(zp::json& of) {
  if (of.if_object() == nullptr) return;
  std::erase_if(*of.if_object(), [](const auto& member) { return member.key == "crc32c"; });
  std::string right = zp::detail::commit_seal(of);
  of.set("crc32c", std::move(right));
}

/// A document of a step, or a mark beside items, whose seals are right.
std::vector<std::byte> sealed(const std::vector<std::byte>& text) {
  auto root = zp::parse_json(text, {.max_bytes = std::size_t{1} << 20});
  if (!root || root->if_object() == nullptr) return text;
  zp::json* const attributes = root->find("attributes");
  if (root->find("items") != nullptr) {
    seal(*root);
  } else if (attributes != nullptr && attributes->if_object() != nullptr) {
    zp::json others = *attributes;
    zp::json own = zp::detail::take_member(others, "zarrpoint");
    std::erase_if(*others.if_object(), [](const auto& one) { return one.key == "zarrpoint"; });
    if (own.if_object() == nullptr) return text;
    const auto seal_attributes = [&](zp::json& of) {
      std::string right = zp::detail::commit_seal(others);
      if (of.if_object() != nullptr) of.set("attributes_crc32c", std::move(right));
    };
    if (zp::json* const commit = own.find("commit")) {  // of a delta
      seal_attributes(*commit);
      seal(*commit);
    } else {
      seal_attributes(own);
    }
    seal(own);
    attributes->set("zarrpoint", std::move(own));
  }
  const std::string right = zp::dump_json(*root, zp::json_style::compact);
  const zp::bytes_view bytes = zp::as_bytes(right);
  return {bytes.begin(), bytes.end()};
}

/// Opens what is there, lets it remove what it wants, and looks whether it lost anything.
void run(const objects& all) {
  const zp::memory_store store;
  for (const auto& [path, bytes] : all)
    if (!store.put(key(path), bytes)) return;  // a file in place of a folder
  const zp::location where(store);
  auto opened = zp::checkpoint_manager::open(where, options_of());
  if (!opened) return;
  const auto loads = [](zp::result<zp::restored_step> of) {
    if (!of) return false;
    for (const std::string& name : of->data.names())
      if (!of->data.load<zp::tensor>(name)) return false;
    return true;
  };
  static_cast<void>(opened->best("loss", zp::better::lower));
  std::vector<std::int64_t> before;
  for (const zp::step_record& one : opened->records())
    if (one.items.empty() && loads(opened->restore(one.step))) before.push_back(one.step);
  const auto latest = opened->latest();
  const auto shown = opened->dry_run();
  const auto gone = opened->prune();
  const auto is_in = [&](std::int64_t step, const std::vector<zp::step_removal>& in) {
    return std::any_of(in.begin(), in.end(), [&](const auto& one) { return one.step == step; });
  };
  for (const std::int64_t step : before) {
    if (gone && is_in(step, *gone)) {
      require(is_in(step, shown) || !latest, "what goes was shown");
      continue;
    }
    require(gone.has_value() ? loads(opened->restore(step)) : true, "what is kept loads as before");
  }
  if (latest && *latest && gone) require(!is_in(**latest, *gone), "the newest step stays");
  static_cast<void>(opened->document(12, "a.json"));
  const words w = words_of(20);
  static_cast<void>(opened->save(20, {{"w", w}}));
  static_cast<void>(opened->save(6, {{"w", w}}));
  static_cast<void>(opened->remove(11, true));
  static_cast<void>(opened->close());
}

void edit(input in) {
  objects all = whole_run();
  std::vector<std::string> documents;
  for (const auto& [path, bytes] : all)
    if (path.ends_with(".json")) documents.push_back(path);
  for (int edits = 0; edits < 16 && !in.empty(); ++edits) {
    const unsigned kind = in.byte() % 8, which = in.byte();
    const auto file = std::next(all.begin(), static_cast<std::ptrdiff_t>(which % all.size()));
    if (kind < 4) {
      const std::string& path = documents[which % documents.size()];
      if (!all.contains(path) || all[path].empty()) continue;
      std::vector<std::byte>& of = all[path];
      const std::size_t at = in.byte() + 256U * in.byte();
      of[at % of.size()] = static_cast<std::byte>(in.byte());
      if (kind > 1) of = sealed(of);
    } else if (kind == 4) {
      all.erase(file);
      if (all.empty()) return;
    } else if (kind == 5) {
      file->second.resize(file->second.size() / 2);
    } else {
      static const std::string names[] = {"step_00000005", "step_00000006", "step_00000010",
                                          "step_00000011", "step_00000012"};
      const zp::bytes_view taken = in.take(in.byte() % 32);
      const std::string text(zp::as_text(taken));
      if (!zp::store_key::parse(text)) continue;
      if (kind == 7) {
        all[".zarrpoint_manager/" + text] = {};
        if (!zp::store_key::parse(".zarrpoint_manager/" + text)) return;
        continue;
      }
      objects renamed;
      for (auto& [path, bytes] : all) {
        const std::string& old = names[which % std::size(names)];
        renamed[path.starts_with(old) ? text + path.substr(old.size()) : path] = std::move(bytes);
      }
      all = std::move(renamed);
    }
  }
  for (const auto& [path, bytes] : all)
    if (!zp::store_key::parse(path)) return;
  run(all);
}

void mark(input in) {
  const auto parsed = zp::parse_json(in.rest(), {.max_bytes = std::size_t{1} << 20});
  if (parsed) {
    const auto read = zp::detail::parse_step_mark(*parsed);
    if (read) {
      const auto again = zp::detail::parse_step_mark(to_json(*read));
      require(again && again->step == read->step && again->saved_at == read->saved_at &&
                  again->items == read->items &&
                  (read->items.empty() || again->files == read->files),
              "a mark that is read can be written");
    }
  }
  objects all = whole_run();
  all["step_00000012/zarrpoint_step.json"].assign(in.rest().begin(), in.rest().end());
  run(all);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  input in(data, size);
  in.byte() % 2 == 0 ? mark(in) : edit(in);
  return 0;
}
