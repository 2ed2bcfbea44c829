// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/hierarchy/store_tree.hpp>
#include <zarrpoint/checkpoint/document/contents.hpp>
#include <zarrpoint/checkpoint/load/load_batch.hpp>
#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/checkpoint/save/replace.hpp>
#include <zarrpoint/checkpoint/save/write_metadata.hpp>
#include <zarrpoint/checkpoint/verify/verify.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/delta/delta.hpp>
#include <zarrpoint/exec/parallel_for.hpp>
#include <zarrpoint/manager/copied_leaves.hpp>
#include <zarrpoint/manager/manager.hpp>
#include <zarrpoint/manager/manager_state.hpp>
#include <zarrpoint/memory/strided_copy.hpp>
#include <zarrpoint/store/prefix_store.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

namespace zarrpoint { inline namespace v0 {

// ------------------------------------------------------------------------------- copied_leaves.hpp

namespace detail {

ZARRPOINT_INLINE leaf leaf_copy::make(const leaf& of, const tensor& elements) {
  leaf out;
  out.name_ = of.name_;
  auto made = make_counted<leaf_copy>(leaf_copy{*of.table_, elements.view()});
  made->table.spec = [](const void* self) -> result<tensor_spec> {
    const host_view& view = static_cast<const leaf_copy*>(self)->elements;
    return tensor_spec{view.type, view.shape};
  };
  made->table.stage = [](const void* self, memory_resource&) -> result<staged> {
    return staged{static_cast<const leaf_copy*>(self)->elements, {}};
  };
  out.table_ = &made->table;
  out.keep(std::shared_ptr<const leaf_copy>(std::move(made)));
  return out;
}

ZARRPOINT_INLINE result<void> leaf_copies::take(std::vector<leaf>& leaves, const context& how) {
  struct piece {
    std::size_t tensor;
    host_view from;
    std::size_t offset, bytes;  ///< none: all of it, by strides
  };
  constexpr std::size_t most = std::size_t{8} << 20;  // a few for each thread
  std::vector<piece> pieces;
  std::vector<std::size_t> copied;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (!leaves[i].host_accessible()) continue;
    const auto add = [&]() -> result<void> {
      ZARRPOINT_TRY(spec, leaves[i].spec());
      ZARRPOINT_TRY(from, leaves[i].view());
      const std::size_t at = copied.size();
      if (at == tensors_.size()) tensors_.emplace_back();
      if (tensors_[at].spec() != spec) {
        tensors_[at] = tensor();  // before more is taken
        ZARRPOINT_TRY(made, tensor::make(spec, resource_of(how)));
        tensors_[at] = std::move(made);
      }
      const std::size_t bytes = tensors_[at].size() * memory_size(spec.type);
      if (spec.type.is_variable() || !is_dense(from)) {
        pieces.push_back({at, from, 0, 0});
      } else {
        for (std::size_t done = 0; done < bytes; done += most)
          pieces.push_back({at, from, done, std::min(most, bytes - done)});
      }
      copied.push_back(i);
      return {};
    };
    if (auto added = add(); !added)
      return std::move(added).failure().at("copy " + in_quotes(leaves[i].name()));
  }
  ZARRPOINT_CHECK(parallel_for(how.executor, pieces.size(), [&](std::size_t i) -> result<void> {
    const piece& one = pieces[i];
    const mutable_host_view to = tensors_[one.tensor].mutable_view();
    const std::size_t bytes = one.bytes != 0 ? one.bytes : byte_count(one.from.spec()).value_or(0);
    const phase_scope stages(how.observer, phase::stage, leaves[copied[one.tensor]].name(), bytes);
    if (one.bytes == 0) {
      copy_elements(to, one.from);
    } else {
      std::memcpy(to.data + one.offset, one.from.data + one.offset, one.bytes);
    }
    return {};
  }));
  for (std::size_t i = 0; i < copied.size(); ++i)
    leaves[copied[i]] = leaf_copy::make(leaves[copied[i]], tensors_[i]);
  return {};
}

}  // namespace detail

// ------------------------------------------------------------------------------- manager_state.hpp

namespace detail {

/// Whether a failure says that a step is not whole, and not that it could not be looked at.
ZARRPOINT_INLINE bool is_damage(errc code) noexcept {
  return code == errc::corrupt || code == errc::not_found || code == errc::out_of_range ||
         code == errc::invalid_argument || code == errc::replaced;
}

ZARRPOINT_INLINE void add_warnings(std::vector<std::string>& to,
                                   const std::vector<std::string>& told) {
  for (const std::string& one : told)
    if (std::find(to.begin(), to.end(), one) == to.end()) to.push_back(one);
}

/// The sizes of all objects that the commit document names.
template <class F>
result<void> for_each_digest(const checkpoint& of, F&& f) {
  for (const stored_leaf& leaf : checkpoint_access::contents(of).leaves) {
    for (const auto& [key, digest] : leaf.objects.objects()) {
      if (digest.absent()) continue;
      ZARRPOINT_CHECK(f(leaf.name.empty() ? key : leaf.name + '/' + key, digest.size));
    }
  }
  return {};
}

}  // namespace detail

ZARRPOINT_INLINE result<detail::step_look> checkpoint_manager::state::look(
    const std::string& name) const {
  detail::step_look out;
  out.record.name = name;
  out.record.step = detail::parse_step_name(name).value_or(-1);
  bool may_be_delta = true;
  const auto take_mark = [&](const json& from) -> result<void> {
    ZARRPOINT_TRY(mark, detail::parse_step_mark(from));
    out.record.metrics = mark.metrics;
    out.record.saved_at = mark.saved_at;
    out.record.items = mark.items;
    // A copy under another number is nobody's to remove.
    out.record.is_managed = mark.step == out.record.step;
    for (const auto& file : mark.files)
      out.record.bytes += std::min(file.second, UINT64_MAX - out.record.bytes);
    out.mark = std::move(mark);
    return {};
  };
  const auto run = [&]() -> result<void> {
    ZARRPOINT_TRY(mark_key, key(name + '/' + detail::step_mark::file));
    // By the store, which follows no link: what is reached through one is not ours.
    ZARRPOINT_TRY(text, get(root, mark_key, options.how.limit.metadata_bytes));
    if (text) {
      auto document = parse_json(*text, detail::document_limits(options.how.limit));
      if (document && document->find("items") != nullptr) return take_mark(*document);
      return error{errc::corrupt,
                   root.describe(mark_key) + ": " +
                       (document ? "it names no items" : document.failure().message)};
    }
    const auto has = [&](std::initializer_list<const char*> documents) -> result<bool> {
      for (const char* document : documents) {
        ZARRPOINT_TRY(document_key, key(name + document));
        ZARRPOINT_TRY(object, root.open(document_key));
        if (object != nullptr) return true;
      }
      return false;
    };
    ZARRPOINT_TRY(is_zarr, has({"/zarr.json", "/.zgroup"}));
    ZARRPOINT_TRY(step_key, key(name));
    may_be_delta = is_zarr;
    if (is_zarr) {
      ZARRPOINT_TRY(is_delta, look_at_delta(step_key, out));
      may_be_delta = is_delta;
    }
    ZARRPOINT_TRY(elsewhere, place(name));
    ZARRPOINT_TRY(opened, open_step(is_zarr ? location(root, step_key) : elsewhere));
    if (opened.format().starts_with("Orbax")) {
      // An item alone does not tell whether the others are there.
      ZARRPOINT_TRY(is_committed, has({"/_CHECKPOINT_METADATA", "/_METADATA"}));
      if (!is_committed)
        return error{errc::corrupt, root.describe(step_key) + " has no document of its commit"};
    }
    if (is_zarr) {
      const auto add = [&](const std::string&, std::uint64_t size) -> result<void> {
        if (!out.is_delta) out.record.bytes += std::min(size, UINT64_MAX - out.record.bytes);
        return {};
      };
      ZARRPOINT_CHECK(detail::for_each_digest(opened, add));
      const json* const mark = opened.attributes().find(detail::step_mark::member);
      if (mark != nullptr && !opened.id().empty()) {
        const auto taken = take_mark(*mark);
        // Attributes that others edited say nothing that counts, but the step is whole.
        if (!taken || !opened.warnings().empty()) out.record.is_managed = false;
      }
    }
    out.opened = std::move(opened);
    return {};
  };
  if (auto done = guarded(run); !done) {
    out.fault = std::move(done).failure();
    out.record.fault = to_string(*out.fault);
    out.record.is_unread = may_be_delta && !detail::is_damage(out.fault->code);
    if (out.fault->code == errc::cancelled) return *out.fault;
  }
  return out;
}

ZARRPOINT_INLINE result<void> checkpoint_manager::state::check_objects(
    const detail::step_look& of, const std::string& name) const {
  const bool has_digests = of.opened && of.record.is_managed;
  if (of.mark.files.empty() && !of.is_delta && !has_digests) return {};
  ZARRPOINT_TRY(step_key, key(name));
  std::vector<listed_object> all;  // where one listing tells their sizes
  ZARRPOINT_TRY(is_listed, root.list_sizes(step_key, all));
  const auto path_of = [](const listed_object& one) -> std::string_view { return one.path; };
  detail::sort_by_text(all, path_of);
  const auto check = [&](const std::string& path, std::uint64_t size) -> result<void> {
    ZARRPOINT_TRY(at, key(name + '/' + path));
    std::optional<std::uint64_t> found;
    if (is_listed) {
      const auto entry = std::ranges::lower_bound(all, std::string_view(path), {}, path_of);
      if (entry != all.end() && entry->path == path) found = entry->size;
    } else {
      ZARRPOINT_TRY(object, root.open(at));
      if (object != nullptr) found = object->size();
    }
    if (!found)
      return error{errc::corrupt, root.describe(at) + " is not there: the step is not whole"};
    if (*found != size)
      return error{errc::corrupt, root.describe(at) + " has " + std::to_string(*found) +
                                      " bytes and should have " + std::to_string(size)};
    return {};
  };
  for (const auto& [path, size] : of.mark.files) ZARRPOINT_CHECK(check(path, size));
  if (of.is_delta) return check_delta(name, check);
  if (has_digests) return detail::for_each_digest(*of.opened, check);
  return {};
}

/// What is wrong with a step; nothing if it is whole. Errors: that cannot be told.
ZARRPOINT_INLINE result<std::optional<std::string>> checkpoint_manager::state::fault_of(
    const std::string& name) const {
  ZARRPOINT_TRY(found, look(name));
  std::optional<error> fault = std::move(found.fault);
  if (!fault) {
    auto checked = guarded([&] { return check_objects(found, name); });
    if (!checked) fault = std::move(checked).failure();
  }
  if (!fault) return std::optional<std::string>();
  if (!detail::is_damage(fault->code)) return std::move(*fault);
  return std::optional(to_string(*fault));
}

/// Notes that a step is not whole; false where a save or a removal in the background was why it
/// seemed so.
ZARRPOINT_INLINE result<bool> checkpoint_manager::state::pass_over(const step_record& seen) {
  const std::lock_guard none_is_removed(pruning);
  const auto find_it = [&]() -> step_record* {
    for (step_record& one : records)
      if (one.step == seen.step && one.saved_at == seen.saved_at) return &one;
    return nullptr;
  };
  {
    const std::lock_guard hold(mutex);
    if (find_it() == nullptr) return false;
  }
  ZARRPOINT_TRY(fault, fault_of(seen.name));
  const std::lock_guard hold(mutex);
  step_record* const one = find_it();
  if (!fault || one == nullptr) return false;
  one->fault = *fault;
  warnings.push_back("step " + std::to_string(seen.step) + " was passed over: " + *fault);
  return true;
}

/// The steps that have a note of a kind, as in "keep_10".
ZARRPOINT_INLINE result<std::vector<std::int64_t>> checkpoint_manager::state::notes(
    std::string_view kind) const {
  ZARRPOINT_TRY(at, key(folder));
  ZARRPOINT_TRY(entries, root.list(at));
  std::vector<std::int64_t> out;
  for (const list_entry& one : entries) {
    std::string_view name = one.name;
    if (!name.starts_with(kind)) continue;
    name.remove_prefix(kind.size());
    if (const auto step = detail::parse_step_name(name)) out.push_back(*step);
  }
  return out;
}

ZARRPOINT_INLINE result<void> checkpoint_manager::state::read_pins() {
  ZARRPOINT_TRY(pins, notes("keep_"));
  const std::lock_guard hold(mutex);
  for (step_record& one : records)
    one.is_pinned = std::find(pins.begin(), pins.end(), one.step) != pins.end();
  return {};
}

ZARRPOINT_INLINE result<void> checkpoint_manager::state::scan() {
  std::size_t before = 0;
  {
    const std::lock_guard hold(mutex);
    before = changes;
  }
  ZARRPOINT_TRY(entries, root.list(store_key::root()));
  std::vector<step_record> found;
  for (const list_entry& one : entries) {
    if (!one.is_prefix || !detail::parse_step_name(one.name)) continue;
    if (is_path() && detail::is_link(name_of(one.name))) continue;  // no step: who knows whose
    ZARRPOINT_TRY(seen, look(one.name));
    found.push_back(std::move(seen.record));
  }
  {
    std::unique_lock hold(mutex);
    if (changes != before) {  // what a save in the background has done would be lost
      hold.unlock();
      return scan();
    }
    records.clear();
    for (step_record& one : found) {
      // Of two names for one step, such as "10" and "step_10", the one that a manager wrote.
      const step_record* const other = find(one.step);
      if (other == nullptr) {
        put(std::move(one));
        continue;
      }
      const bool is_better = other->fault.empty() == one.fault.empty()
                                 ? !other->is_managed && one.is_managed
                                 : one.fault.empty();
      warnings.push_back("step " + std::to_string(one.step) + " is there twice, as " +
                         detail::in_quotes(other->name) + " and as " + detail::in_quotes(one.name) +
                         ": " + (is_better ? "the second" : "the first") + " is taken");
      if (is_better) put(std::move(one));
    }
  }
  return read_pins();
}

// Steps that are deltas. Each stands on a whole step, never on a delta: so nothing but that one has
// to stay, and a damaged delta harms no other.

/// Opens a step or an item, which may be a delta.
ZARRPOINT_INLINE result<checkpoint> checkpoint_manager::state::open_step(const location& at) const {
  auto opened = zarrpoint::open(at, options.how);
  if (opened || opened.failure().code != errc::unsupported) return opened;
  auto on_base = open_delta(at, {}, options.how);
  if (!on_base && on_base.failure().code == errc::unsupported) return opened;
  return on_base;
}

/// What a delta says of itself; false for all that is none.
ZARRPOINT_INLINE result<bool> checkpoint_manager::state::look_at_delta(
    const store_key& at, detail::step_look& out) const {
  const any_store beneath(prefix_store(root, at));
  ZARRPOINT_TRY(is_delta, detail::is_delta(beneath));
  if (!is_delta) return false;
  ZARRPOINT_TRY(document, detail::read_delta_document(beneath, options.how));
  if (!document) return false;
  out.is_delta = true;
  out.record.base = detail::parse_step_name(document->base_path);
  for (const leaf_record& leaf : document->commit.leaves)
    for (const auto& [key, object] : leaf.objects.objects())
      out.record.bytes += std::min(object.size, UINT64_MAX - out.record.bytes);
  return true;
}

/// Whether the objects of a delta, and of the step that it stands on, are there with their sizes.
ZARRPOINT_INLINE result<void> checkpoint_manager::state::check_delta(
    const std::string& name, const detail::object_check& check) const {
  ZARRPOINT_TRY(step_key, key(name));
  ZARRPOINT_TRY(document,
                detail::read_delta_document(any_store(prefix_store(root, step_key)), options.how));
  if (!document) return error{errc::corrupt, root.describe(step_key) + " is not a delta now"};
  for (const leaf_record& leaf : document->commit.leaves)
    for (const auto& [key, object] : leaf.objects.objects())
      if (!object.absent()) ZARRPOINT_CHECK(check(leaf.name + '/' + key, object.size));
  if (!detail::parse_step_name(document->base_path)) return {};
  const auto check_base = [&]() -> result<void> {
    ZARRPOINT_TRY(base, look(document->base_path));
    if (base.fault) return std::move(*base.fault);
    return check_objects(base, document->base_path);
  };
  return check_base().at("its base " + document->base_path);
}

/// Has the job save a delta, where the policy wants no whole step.
ZARRPOINT_INLINE result<void> checkpoint_manager::state::choose_base(job& work) {
  if (!options.whole_when) return {};
  {
    const std::lock_guard hold(mutex);
    for (const step_record& one : records)
      if (one.step < work.mark.step && one.is_managed && one.fault.empty() && !one.base &&
          one.items.empty() && !has(saving, one.step) && !has(going, one.step))
        work.base = one;
    if (!work.base) return {};
    bases.push_back(work.base->step);
  }
  if ((*options.whole_when)({.step = work.mark.step,
                             .now = work.mark.saved_at,
                             .opened = opened,
                             .last_step = work.base->step,
                             .last_time = work.base->saved_at})) {
    const std::lock_guard hold(mutex);
    work.release_base();
  }
  return {};
}

/// The name of the newest step, or of its item, that may be shared with; empty for none. That step
/// stays until the job is done.
ZARRPOINT_INLINE std::string checkpoint_manager::state::share(job& work, const std::string& item) {
  const std::lock_guard hold(mutex);
  for (auto at = records.rbegin(); options.share_unchanged && at != records.rend(); ++at) {
    if (!at->is_managed || !at->fault.empty() || at->base || has(going, at->step)) continue;
    if (has(saving, at->step) && at->step != work.mark.step) continue;
    if (item.empty() ? !at->items.empty()
                     : std::find(at->items.begin(), at->items.end(), item) == at->items.end())
      continue;
    work.shared.push_back(at->step);
    bases.push_back(at->step);
    return item.empty() ? at->name : at->name + '/' + item;
  }
  return {};
}

ZARRPOINT_INLINE result<std::optional<location>> checkpoint_manager::state::previous(
    job& work, const std::string& item) {
  const std::string name = share(work, item);
  if (name.empty()) return std::optional<location>();
  ZARRPOINT_TRY(at, key(name));
  return std::optional(location(root, at));
}

/// Renames a step that is damaged. Errors: `unsupported` where the store cannot.
ZARRPOINT_INLINE result<void> checkpoint_manager::state::move_aside(const std::string& name,
                                                                    const std::string& why) {
  const std::string aside = "damaged_" + name + '.' + detail::random_id().substr(0, 8);
  ZARRPOINT_TRY(step_key, key(name));
  ZARRPOINT_TRY(aside_key, key(aside));
  ZARRPOINT_CHECK(root.rename(step_key, aside_key));
  warn(name_of(name) + " is not whole (" + why + "): it is " + name_of(aside) + " now");
  return {};
}

/// Has a step that is damaged be none from now on, for all readers: its sizes tell nothing.
ZARRPOINT_INLINE void checkpoint_manager::state::condemn(step_record step) {
  auto gone = move_aside(step.name, step.fault);
  const bool is_moved = gone.has_value();
  if (!gone && gone.failure().code == errc::unsupported) gone = erase_documents(step.name);
  if (!gone) warn(to_string(gone.failure()));
  const std::lock_guard hold(mutex);
  for (step_record& one : records)
    if (one.base == step.step && one.fault.empty())
      one.fault = "its base is damaged: " + step.fault;
  if (is_moved) {
    forget(step.step);
  } else {
    put(std::move(step));
  }
}

/// Looks at each byte of what a delta stands on; whether it was damaged.
ZARRPOINT_INLINE bool checkpoint_manager::state::condemn_base(const step_record& base) {
  auto verified = guarded([&] { return verify_step(base.name, {}); });
  if (verified || !detail::is_damage(verified.failure().code)) return false;
  const std::lock_guard none_is_removed(pruning);
  std::optional<step_record> known;
  {
    const std::lock_guard hold(mutex);
    const step_record* const found = find(base.step);
    if (found != nullptr && found->saved_at == base.saved_at && !has(saving, base.step))
      known = *found;
  }
  if (!known || !known->fault.empty()) return true;  // another save was here before
  known->fault = to_string(verified.failure());
  condemn(*std::move(known));
  return true;
}

/// Saves whole what could not be saved as a delta: its base may be damaged.
ZARRPOINT_INLINE result<save_report> checkpoint_manager::state::save_whole(job& work,
                                                                           const error& why) {
  const step_record base = *work.base;
  {
    const std::lock_guard hold(mutex);
    work.release_base();
  }
  const bool is_damaged = condemn_base(base);
  // What lies elsewhere may have changed since.
  for (const leaf& one : work.whole)
    if (!one.host_accessible()) return why;
  if (is_damaged)
    warn("step " + std::to_string(work.mark.step) + " is saved whole, and not on " + base.name +
         ", which is damaged");
  ZARRPOINT_TRY(step_key, key(work.name));
  return zarrpoint::save(location(root, step_key), work.whole, options_of(work), options.how);
}

/// Makes deltas whole, in their place, before what they stand on is replaced.
ZARRPOINT_INLINE result<void> checkpoint_manager::state::make_whole_what_stands_on(
    std::int64_t step) {
  const auto is_needed = [&] {
    const std::lock_guard hold(mutex);
    const step_record* const there = find(step);
    return there != nullptr && !detail::why_needed(*there, records).empty();
  };
  if (!is_needed()) return {};
  const std::lock_guard none_is_removed(pruning);
  std::vector<step_record> all;
  {
    const std::lock_guard hold(mutex);
    all = records;
  }
  const auto base = std::find_if(all.begin(), all.end(),
                                 [&](const step_record& one) { return one.step == step; });
  if (base == all.end()) return {};
  ZARRPOINT_TRY(base_key, key(base->name));
  for (step_record& one : all) {
    if (one.base != step || !one.fault.empty()) continue;
    ZARRPOINT_TRY(at, key(one.name));
    auto made = apply_deltas({root, at}, {{root, base_key}, {{root, at}}},
                             {.overwrite = true, .sync = options.storage.sync}, options.how);
    if (!made && !detail::is_damage(made.failure().code))
      return std::move(made).failure().at("make step " + std::to_string(one.step) + " whole");
    if (made) {
      one.base.reset();
      one.bytes = made->stored_bytes;
      for (std::string& said : made->warnings) warn(std::move(said));
    } else {
      one.fault = to_string(made.failure());
      warn("step " + std::to_string(one.step) + " is not whole: " + one.fault);
    }
    const std::lock_guard hold(mutex);
    put(one);
  }
  std::string why = detail::why_needed(*base, all);
  if (!why.empty()) return error{errc::unavailable, std::move(why)};
  return {};
}

/// Whether a step that was begun may have been committed, as far as one can tell.
ZARRPOINT_INLINE result<bool> checkpoint_manager::state::may_be_whole(
    const detail::step_look& of) const {
  if (of.record.is_managed) return true;
  // What can be opened was committed, or others have put it there.
  if (!of.fault) return of.opened.has_value();
  if (of.fault->code != errc::unsupported) return !detail::is_damage(of.fault->code);
  for (const char* document : {detail::step_mark::file, "zarr.json", ".zgroup"}) {
    ZARRPOINT_TRY(document_key, key(of.record.name + '/' + document));
    ZARRPOINT_TRY(object, root.open(document_key));
    if (object != nullptr) return true;
  }
  return false;
}

/// Whether a save or a removal left this behind, which failed: it has a note, and is not whole.
ZARRPOINT_INLINE result<bool> checkpoint_manager::state::is_unfinished(
    const detail::step_look& of) const {
  ZARRPOINT_TRY(begun_key, note("begun_" + of.record.name));
  ZARRPOINT_TRY(begun, root.open(begun_key));
  if (begun == nullptr) return false;
  return may_be_whole(of).transform([](bool is_whole) { return !is_whole; });
}

/// In stores without a step that publishes or erases all: what an earlier manager did not finish.
ZARRPOINT_INLINE result<void> checkpoint_manager::state::finish_what_was_begun() {
  ZARRPOINT_TRY(at, key(folder));
  ZARRPOINT_TRY(entries, root.list(at));
  for (const list_entry& one : entries) {
    if (!one.name.starts_with("begun_")) continue;
    const std::string name = one.name.substr(6);
    ZARRPOINT_TRY(note_key, note(one.name));
    if (detail::parse_step_name(name)) {
      ZARRPOINT_TRY(seen, look(name));
      ZARRPOINT_TRY(is_to_stay, may_be_whole(seen));
      if (is_to_stay && seen.fault) {  // the next manager looks again
        warn(name_of(name) +
             " was begun, and whether it is whole cannot be told: " + to_string(*seen.fault));
        continue;
      }
      if (!is_to_stay) {
        ZARRPOINT_TRY(step_key, key(name));
        ZARRPOINT_CHECK(erase_step(step_key));
      }
    }
    ZARRPOINT_CHECK(root.erase(note_key));
  }
  return {};
}

ZARRPOINT_INLINE result<void> checkpoint_manager::state::check_owner() const {
  if (is_closed)
    return error{errc::invalid_argument, "the manager of " + where.name() + " is closed"};
  if (!options.exclusive)
    return error{errc::invalid_argument, "the manager of " + where.name() +
                                             " may only look: open it with exclusive = true"};
  if (owner.empty()) return {};
  ZARRPOINT_TRY(at, note("owner"));
  ZARRPOINT_TRY(text, get(root, at, 64));
  if (text && as_text(*text) == owner) return {};
  return error{errc::unavailable, where.name() + " was taken by another manager: end one of them"};
}

ZARRPOINT_INLINE result<void> checkpoint_manager::state::tell() {
  const std::lock_guard hold(mutex);
  if (!untold) return {};
  error out = *std::move(untold);
  untold.reset();
  return out;
}

/// Takes the saves that are done off the list, and waits until there are less than `most`.
ZARRPOINT_INLINE void checkpoint_manager::state::reap(std::size_t most) {
  while (!under_way.empty() && (under_way.size() >= most || under_way.front().done.ready())) {
    running one = std::move(under_way.front());
    under_way.pop_front();
    // Of a save that could be concluded `fail` knows all errors.
    if (auto done = one.done.get(); !done)
      fail(std::move(done).failure().at("step " + std::to_string(one.step)));
  }
}

/// The job of a step that may be saved now, once it is known what has its name already.
ZARRPOINT_INLINE result<std::shared_ptr<checkpoint_manager::state::job>>
checkpoint_manager::state::prepare(std::int64_t step, std::vector<step_metric> metrics) {
  if (step < 0) return error{errc::invalid_argument, "the step is below 0"};
  for (std::size_t i = 0; i < metrics.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (metrics[i].first == metrics[j].first)
        return error{errc::invalid_argument,
                     "the metric " + detail::in_quotes(metrics[i].first) + " is there twice"};
  auto work = detail::make_counted<job>(this);
  work->name = name_for(step);
  work->mark.step = step;
  work->mark.saved_at = options.clock();
  work->mark.metrics = std::move(metrics);
  ZARRPOINT_CHECK(make_room(*work));
  return work;
}

ZARRPOINT_INLINE result<bool> checkpoint_manager::state::begin(std::int64_t step,
                                                               std::vector<step_item> items,
                                                               std::vector<step_metric> metrics,
                                                               bool is_plain) {
  ZARRPOINT_CHECK(check_owner());
  reap(under_way.size() + 1);
  ZARRPOINT_CHECK(tell());
  for (const running& one : under_way)
    if (one.step == step)
      return error{errc::already_exists, "step " + std::to_string(step) + " is being saved"};
  const std::size_t most = std::max<std::size_t>(options.most_under_way, 1);
  if (under_way.size() >= most) {
    if (options.busy == when_busy::skip) return false;
    reap(most);
    ZARRPOINT_CHECK(tell());
  }
  ZARRPOINT_TRY(work, prepare(step, std::move(metrics)));
  {
    const std::lock_guard hold(mutex);
    if (!spare.empty()) {
      work->copies = std::move(spare.back());
      spare.pop_back();
    }
  }
  ZARRPOINT_TRY(
      done, is_plain ? start_plain(work, std::move(items.front())) : start(work, std::move(items)));
  take_request();
  under_way.push_back({step, std::move(done)});
  if (options.background) return true;
  reap(1);
  wait_for_removals();
  ZARRPOINT_CHECK(tell());
  return true;
}

/// Sees to what has the name of a step already.
ZARRPOINT_INLINE result<void> checkpoint_manager::state::make_room(job& work) {
  const auto is_base = [&] {
    const std::lock_guard hold(mutex);
    return has(bases, work.mark.step);
  };
  if (is_base()) reap(1);  // what is being saved stands on it
  {
    // From here on no policy removes it. That would be the new one.
    std::unique_lock hold(mutex);
    while (has(going, work.mark.step)) {
      hold.unlock();
      const std::lock_guard until_it_is_gone(pruning);
      hold.lock();
      going.clear();
    }
    saving.push_back(work.mark.step);
    work.is_held = true;
  }
  ZARRPOINT_TRY(step_key, key(work.name));
  ZARRPOINT_TRY(entries, root.list(step_key));
  if (entries.empty()) return {};
  ZARRPOINT_TRY(seen, look(work.name));
  if (seen.record.is_managed) {
    work.replaces = true;
    return make_whole_what_stands_on(work.mark.step);
  }
  ZARRPOINT_TRY(is_a_rest, is_unfinished(seen));
  if (is_a_rest) {
    ZARRPOINT_CHECK(erase_step(step_key));
    ZARRPOINT_TRY(begun, note("begun_" + work.name));
    return root.erase(begun).transform([](bool) {});
  }
  if (!seen.fault)
    return error{errc::already_exists,
                 root.describe(step_key) + " is there, and no manager wrote it: move it away"};
  if (!detail::is_damage(seen.fault->code)) return std::move(*seen.fault);
  auto renamed = move_aside(work.name, to_string(*seen.fault));
  if (!renamed && renamed.failure().code == errc::unsupported)
    return error{errc::already_exists,
                 root.describe(step_key) + " is not whole (" + to_string(*seen.fault) +
                     "), and this kind of store cannot move it away: remove it"};
  return renamed;
}

ZARRPOINT_INLINE save_options checkpoint_manager::state::options_of(const job& work) const {
  save_options how = options.storage;
  how.overwrite = work.replaces;
  how.previous.reset();
  how.attributes.set(std::string(detail::step_mark::member), to_json(work.mark));
  return how;
}

ZARRPOINT_INLINE result<pending<void>> checkpoint_manager::state::start_plain(
    std::shared_ptr<job> work, step_item item) {
  if (options.storage.format) {
    item.name = options.item;
    std::vector<step_item> items;
    items.push_back(std::move(item));
    return start(std::move(work), std::move(items));
  }
  save_options how = options_of(*work);
  detail::single_leaves all = leaf::single(std::move(item.leaves));
  if (options.copy) ZARRPOINT_CHECK(work->copies.take(all.leaves, options.how));
  for (const std::string& group : all.empty_groups) all.leaves.push_back(leaf::empty_group(group));
  ZARRPOINT_TRY(step_key, key(work->name));
  ZARRPOINT_CHECK(note_begun(work->name));
  ZARRPOINT_CHECK(choose_base(*work));
  if (work->base) {
    ZARRPOINT_TRY(base_key, key(work->base->name));
    how.format = delta::format{.base = location(root, base_key), .path = work->base->name};
    work->whole = all.leaves;
  } else {
    ZARRPOINT_TRY(before, previous(*work));
    how.previous = std::move(before);
  }
  pending<save_report> saving =
      save_async(location(root, step_key), std::move(all.leaves), std::move(how), options.how);
  auto end = [this, work = std::move(work), saving = std::move(saving)]() mutable -> result<void> {
    auto saved = saving.get();
    if (!saved && work->base &&
        (detail::is_damage(saved.failure().code) || saved.failure().code == errc::unsupported))
      saved = guarded([&] { return save_whole(*work, saved.failure()); });
    conclude(*work, std::move(saved));
    return {};
  };
  return run_async(options.how.executor, std::move(end));
}

/// Adds an item to those of a step; a document in place of leaves is as good as saved.
ZARRPOINT_INLINE result<void> checkpoint_manager::state::name_item(job& work,
                                                                   const std::string& name,
                                                                   const json& document) const {
  if (!detail::is_item_name(name))
    return error{errc::invalid_argument,
                 "the item " + detail::in_quotes(name) + ": the name is not one of a file"};
  for (const std::string& other : work.mark.items)
    if (other == name)
      return error{errc::invalid_argument,
                   "the item " + detail::in_quotes(name) + " is there twice"};
  work.mark.items.push_back(name);
  if (!document.is_null())
    work.documents.emplace_back(name, dump_json(document, json_style::pretty));
  return {};
}

/// Opens the place of a step with items; `by_many`: under a name that others can write to.
ZARRPOINT_INLINE result<void> checkpoint_manager::state::open_items(job& work, bool by_many) const {
  ZARRPOINT_TRY(step_key, key(work.name));
  ZARRPOINT_CHECK(note_begun(work.name));
  if (root.can_publish()) {
    ZARRPOINT_TRY(tree, detail::stage({root, step_key}, {.overwrite = work.replaces,
                                                         .sync = options.storage.sync,
                                                         .by_many = by_many,
                                                         .observer = options.how.observer}));
    if (by_many) work.tree_name = tree->staged_name();
    if (!by_many || !work.tree_name.empty()) {
      work.tree = std::move(tree);
      work.store = work.tree->store();
      return {};
    }
  }
  // An old mark must not vouch for what is written now.
  ZARRPOINT_CHECK(erase_keys(work.name));
  work.store = prefix_store(root, step_key);
  return {};
}

ZARRPOINT_INLINE result<pending<void>> checkpoint_manager::state::start(
    std::shared_ptr<job> work, std::vector<step_item> items) {
  for (const step_item& one : items) ZARRPOINT_CHECK(name_item(*work, one.name, one.document));
  if (items.empty()) return error{errc::invalid_argument, "a step needs an item"};
  // All copies lie in one list.
  std::vector<detail::single_leaves> all;
  std::vector<leaf> joined;
  for (step_item& one : items) {
    all.push_back(leaf::single(std::move(one.leaves)));
    joined.insert(joined.end(), all.back().leaves.begin(), all.back().leaves.end());
  }
  if (options.copy) ZARRPOINT_CHECK(work->copies.take(joined, options.how));
  ZARRPOINT_CHECK(open_items(*work, false));
  std::size_t next = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::size_t count = all[i].leaves.size();
    std::vector<leaf> leaves(joined.begin() + static_cast<std::ptrdiff_t>(next),
                             joined.begin() + static_cast<std::ptrdiff_t>(next + count));
    next += count;
    for (const std::string& group : all[i].empty_groups) leaves.push_back(leaf::empty_group(group));
    if (!items[i].document.is_null()) continue;
    ZARRPOINT_TRY(item_key, key(items[i].name));
    save_options how = items[i].options ? *std::move(items[i].options) : options.storage;
    ZARRPOINT_TRY(before, previous(*work, items[i].name));
    how.previous = how.format ? std::nullopt : std::move(before);
    work->parts.emplace_back(items[i].name,
                             save_async(location(*work->store, item_key), std::move(leaves),
                                        std::move(how), options.how));
  }
  return run_async(options.how.executor, [this, work = std::move(work)]() -> result<void> {
    conclude(*work, guarded([&] { return finish_items(*work); }));
    return {};
  });
}

/// Takes what the save of an item says to that of the step.
ZARRPOINT_INLINE void checkpoint_manager::state::job::add(const std::string& item,
                                                          save_report one) {
  for (leaf_report& each : one.leaves) {
    each.name = item + '/' + each.name;
    all.leaves.push_back(std::move(each));
  }
  for (const std::string& text : one.warnings)
    all.warnings.push_back(std::string(item).append(": ").append(text));
  all.bytes += one.bytes;
  all.stored_bytes += one.stored_bytes;
  all.shared_bytes += one.shared_bytes;
  all.seconds = std::max(all.seconds, one.seconds);
  all.blocked_seconds += one.blocked_seconds;
}

/// Waits for all items, and commits them together.
ZARRPOINT_INLINE result<save_report> checkpoint_manager::state::finish_items(job& work) {
  std::optional<error> failed;
  for (auto& [name, part] : work.parts) {
    auto one = part.get();
    if (one) {
      work.add(name, *std::move(one));
    } else if (!failed) {
      failed = std::move(one).failure().at("item " + detail::in_quotes(name));
    }
  }
  if (failed) return std::move(*failed);
  return commit_items(work);
}

/// Commits a step whose items are all saved.
ZARRPOINT_INLINE result<save_report> checkpoint_manager::state::commit_items(job& work) {
  for (const auto& [name, text] : work.documents) {
    ZARRPOINT_TRY(at, key(name));
    ZARRPOINT_CHECK(work.store->put(at, as_bytes(text)));
  }
  std::vector<listed_object> all;
  ZARRPOINT_TRY(is_listed, work.store->list_sizes(store_key::root(), all));
  const auto add = [&](std::string path) -> result<void> {
    ZARRPOINT_TRY(at, key(path));
    ZARRPOINT_TRY(object, work.store->open(at));
    if (object != nullptr) all.push_back({std::move(path), object->size()});
    return {};
  };
  if (!is_listed) ZARRPOINT_CHECK(detail::for_each_object(*work.store, store_key::root(), add));
  for (listed_object& one : all) work.mark.files.emplace_back(std::move(one.path), one.size);
  ZARRPOINT_TRY(mark_key, key(detail::step_mark::file));
  const std::string text = dump_json(to_json(work.mark), json_style::pretty);
  ZARRPOINT_CHECK(work.store->put(mark_key, as_bytes(text)));
  if (work.tree) ZARRPOINT_CHECK(work.tree->commit());
  work.all.id = detail::random_id();
  return std::move(work.all);
}

/// What follows a save, in the background: the step is known, and older ones may go.
ZARRPOINT_INLINE void checkpoint_manager::state::conclude(job& work, result<save_report> saved) {
  auto done = guarded([&]() -> result<void> {
    work.parts.clear();  // waits for those that nobody asked, which read the copies
    work.tree.reset();
    {
      const std::lock_guard hold(mutex);
      spare.push_back(std::move(work.copies));
      report.reset();
    }
    if (!saved) return saved.failure();
    step_record made{.step = work.mark.step, .name = work.name};
    made.saved_at = work.mark.saved_at;
    made.metrics = work.mark.metrics;
    made.items = work.mark.items;
    made.is_managed = true;
    if (work.base) made.base = work.base->step;
    made.bytes = saved->stored_bytes;
    if (!work.mark.items.empty()) {
      made.bytes = 0;
      for (const auto& file : work.mark.files) made.bytes += file.second;
    }
    auto verified = options.verify ? verify_step(work.name, work.documents) : result<void>();
    if (!verified) made.fault = to_string(verified.failure());
    if (!verified && detail::is_damage(verified.failure().code)) {
      // The note that it was begun stays: what is left of it goes with the next save or manager.
      condemn(std::move(made));
      if (work.base) condemn_base(*work.base);
      return verified;
    }
    if (leaves_notes()) {
      ZARRPOINT_TRY(begun, note("begun_" + work.name));
      ZARRPOINT_CHECK(root.erase(begun));
    }
    {
      const std::lock_guard hold(mutex);
      put(std::move(made));
      work.let_go();
      if (verified) last_saved = work.mark.step;
      report = *saved;
      detail::add_warnings(warnings, saved->warnings);
    }
    ZARRPOINT_CHECK(std::move(verified));
    remove_old();
    return {};
  });
  if (!done) fail(std::move(done).failure().at("step " + std::to_string(work.mark.step)));
}

ZARRPOINT_INLINE result<void> checkpoint_manager::state::verify_step(const std::string& name,
                                                                     const texts& documents) const {
  ZARRPOINT_TRY(seen, look(name));
  if (seen.fault) return std::move(*seen.fault);
  ZARRPOINT_CHECK(check_objects(seen, name));
  const auto check = [](const checkpoint& of) -> result<void> {
    ZARRPOINT_TRY(found, verify(of, {.max_failures = 1}));
    if (found.result() != verdict::faulty) return {};
    if (!found.failures.empty()) return found.failures.front().what;
    return error{errc::corrupt, "the step is faulty"};
  };
  if (seen.opened) return check(*seen.opened);  // of a delta with what it stands on
  for (const std::string& item : seen.record.items) {
    const std::string path = std::string(name).append("/").append(item);
    const auto check_item = [&]() -> result<void> {
      for (const auto& [document, text] : documents) {
        if (document != item) continue;
        ZARRPOINT_TRY(at, key(path));
        ZARRPOINT_TRY(found, get(root, at, text.size()));
        if (found && as_text(*found) == text) return {};
        return error{errc::corrupt, root.describe(at) + " is not the document that was saved"};
      }
      ZARRPOINT_TRY(at, place(path));
      auto opened = zarrpoint::open(at, options.how);
      if (opened) return check(*opened);
      // Of a format that this program does not read: the files have their sizes.
      if (opened.failure().code == errc::unsupported) return {};
      return std::move(opened).failure();
    };
    ZARRPOINT_CHECK(check_item().at("item " + detail::in_quotes(item)));
  }
  return {};
}

/// Erases all that lies beneath a step.
ZARRPOINT_INLINE result<void> checkpoint_manager::state::erase_step(const store_key& at) const {
  auto erased = root.erase_all(at).transform([](bool) {});
  if (erased || erased.failure().code != errc::unsupported) return erased;
  return detail::erase_tree(root, at).transform([](bool) {});
}

/// Erases what makes a directory a step.
ZARRPOINT_INLINE result<void> checkpoint_manager::state::erase_documents(
    const std::string& name) const {
  ZARRPOINT_TRY(mark_key, key(name + '/' + detail::step_mark::file));
  ZARRPOINT_CHECK(root.erase(mark_key));
  ZARRPOINT_TRY(step_key, key(name));
  return detail::erase_root_document(any_store(prefix_store(root, step_key)));
}

/// Erases a step key by key: what makes it one goes first.
ZARRPOINT_INLINE result<void> checkpoint_manager::state::erase_keys(const std::string& name) const {
  ZARRPOINT_CHECK(erase_documents(name));
  ZARRPOINT_TRY(step_key, key(name));
  return erase_step(step_key);
}

/// Removes a step, if a manager wrote what has its name now, and nothing stands on it.
ZARRPOINT_INLINE result<void> checkpoint_manager::state::remove(const step_record& of) {
  ZARRPOINT_TRY(step_key, key(of.name));
  {
    const std::lock_guard hold(mutex);
    const step_record* const there = find(of.step);
    std::string why = there == nullptr ? "" : detail::why_needed(*there, records);
    if (!why.empty())
      return error{errc::invalid_argument,
                   "remove " + root.describe(step_key) + ": " + std::move(why)};
  }
  ZARRPOINT_TRY(seen, look(of.name));
  result<bool> erased = false;
  if (!seen.record.is_managed) {
    ZARRPOINT_TRY(left, root.list(step_key));
    ZARRPOINT_TRY(is_a_rest, is_unfinished(seen));
    if (!left.empty() && !is_a_rest)
      return error{errc::invalid_argument,
                   "remove " + root.describe(step_key) + ": no manager wrote it" +
                       (seen.fault ? ", or it cannot be read: " + to_string(*seen.fault) : "")};
    // It went before, by others or by a removal that could not end.
    if (is_a_rest) erased = error{errc::unsupported, "key by key"};
  } else {
    // Files publish in one step and erase in one; elsewhere what makes it a step goes first.
    erased = !leaves_notes() ? root.erase_all(step_key)
                             : result<bool>(error{errc::unsupported, "key by key"});
  }
  if (!erased && erased.failure().code == errc::unsupported) {
    ZARRPOINT_TRY(begun, note("begun_" + of.name));
    ZARRPOINT_CHECK(root.put(begun, {}));
    ZARRPOINT_CHECK(erase_keys(of.name));
    erased = root.erase(begun);
  }
  if (!erased) {
    const auto left = root.list(step_key);
    const std::lock_guard hold(mutex);
    if (left && left->empty()) forget(of.step);  // its name is gone, and some of its files are not
    return std::move(erased).failure();
  }
  ZARRPOINT_TRY(pin_key, note("keep_" + std::to_string(of.step)));
  ZARRPOINT_TRY(pin, root.open(pin_key));
  if (pin != nullptr) ZARRPOINT_CHECK(root.erase(pin_key));
  const std::lock_guard hold(mutex);
  forget(of.step);
  return {};
}

ZARRPOINT_INLINE std::vector<step_removal> checkpoint_manager::state::would_go(
    const keep_policy& keep) const {
  std::vector<step_record> all;
  std::optional<std::int64_t> last;
  {
    const std::lock_guard hold(mutex);
    all = records;
    for (step_record& one : all) one.is_pinned |= is_held(one.step);
    last = last_saved;
  }
  return removals(all, keep, options.clock(), last);  // which may ask the manager
}

ZARRPOINT_INLINE result<std::vector<step_removal>> checkpoint_manager::state::prune(
    const keep_policy& keep) {
  const std::lock_guard one_at_a_time(pruning);
  const auto decide = [&] {
    std::vector<step_removal> out = would_go(keep);
    const std::lock_guard hold(mutex);
    std::erase_if(out, [&](const step_removal& one) {  // a save may have begun since
      return one.stays || is_held(one.step) || find(one.step) == nullptr;
    });
    std::stable_partition(out.begin(), out.end(), [&](const step_removal& one) {
      return find(one.step)->base.has_value();  // before what it stands on
    });
    going.clear();
    for (const step_removal& one : out) going.push_back(one.step);
    return out;
  };
  const auto stays = [](const step_removal& one) { return one.stays; };
  if (std::ranges::all_of(would_go(keep), stays)) return std::vector<step_removal>();
  ZARRPOINT_CHECK(check_owner());
  ZARRPOINT_CHECK(read_pins());  // others may have set some
  std::vector<step_removal> gone;
  for (step_removal& one : decide()) {
    auto removed = remove({.step = one.step, .name = one.name});
    if (removed) {
      gone.push_back(std::move(one));
    } else {  // it goes the next time; the run has lost nothing
      warn(to_string(removed.failure()));
    }
  }
  const std::lock_guard hold(mutex);
  going.clear();
  return gone;
}

/// Removes what is not kept, in the background: no save waits for it. One task at a time does so.
ZARRPOINT_INLINE void checkpoint_manager::state::remove_old() {
  {
    const std::lock_guard hold(mutex);
    if (++removals_asked > 1) return;  // the one that is at work looks again
  }
  const auto work = [this]() -> result<void> {
    while (true) {
      std::size_t asked = 0;
      {
        const std::lock_guard hold(mutex);
        asked = removals_asked;
      }
      // Whatever happens, the next save asks again: even without memory to note why this one
      // failed.
      static_cast<void>(guarded([&]() -> result<void> {
        auto pruned = guarded([&] { return prune(options.keep); });
        if (!pruned) fail(std::move(pruned).failure().at("remove old steps"));
        return {};
      }));
      const std::lock_guard hold(mutex);
      if (removals_asked != asked) continue;
      removals_asked = 0;
      return {};
    }
  };
  auto task = run_async(options.how.executor, work);
  if (task.ready() && !task.get()) static_cast<void>(work());  // there was no memory for a task
  const std::lock_guard hold(mutex);
  std::swap(removing, task);  // the one before is done
}

ZARRPOINT_INLINE void checkpoint_manager::state::wait_for_removals() {
  pending<void> task;
  {
    const std::lock_guard hold(mutex);
    std::swap(removing, task);
  }
  task.wait();
}

/// What to open of a step: its item of a name, the only one, or itself.
ZARRPOINT_INLINE result<std::string> checkpoint_manager::state::name_to_open(
    std::int64_t step, std::string_view item) const {
  const std::lock_guard hold(mutex);
  const step_record* const found = find(step);
  if (found == nullptr)
    return error{errc::not_found, where.name() + " has no step " + std::to_string(step)};
  if (item.empty() && found->items.size() == 1) item = found->items.front();
  if (item.empty() && found->items.size() > 1) {
    std::string all;
    for (const std::string& one : found->items) all += (all.empty() ? "" : ", ") + one;
    return error{errc::invalid_argument, "it has several items, name one of them: " + all};
  }
  return item.empty() ? found->name : found->name + '/' + std::string(item);
}

// ------------------------------------------------------------------------------------- manager.hpp

ZARRPOINT_INLINE checkpoint_manager::checkpoint_manager(std::unique_ptr<state> opened)
    : state_(std::move(opened)) {}
ZARRPOINT_INLINE checkpoint_manager::checkpoint_manager(checkpoint_manager&&) noexcept = default;
ZARRPOINT_INLINE checkpoint_manager& checkpoint_manager::operator=(
    checkpoint_manager&& other) noexcept = default;
ZARRPOINT_INLINE checkpoint_manager::~checkpoint_manager() = default;

ZARRPOINT_INLINE result<checkpoint_manager> checkpoint_manager::open(const location& where,
                                                                     manager_options options) {
  return guarded([&]() -> result<checkpoint_manager> {
    const context& how = options.how;
    ZARRPOINT_TRY(at, detail::location_access::to_manage(where, options.storage.sync, how.stores));
    const any_store root = at.key.is_root() ? at.store : any_store(prefix_store(at.store, at.key));
    if (!root.can_list() || (options.exclusive && !root.can_write()))
      return error{errc::unsupported,
                   "manage " + where.name() + ": this kind of store cannot be listed and written"};
    if (!detail::parse_step_name(detail::step_name(1, {options.prefix, 1})) || options.digits > 19)
      return error{errc::invalid_argument,
                   "manager_options: the prefix is \"step_\", \"step-\" or \"\", the digits are at "
                   "most 19"};
    const save_options& storage = options.storage;
    if (options.whole_when && (!root.can_publish() || storage.format || storage.zarr_format != 3 ||
                               !storage.layouts.empty()))
      return error{errc::unsupported,
                   "manage " + where.name() +
                       ": steps that are deltas need Zarr v3, no layouts of their own and a store "
                       "that publishes in one step: leave out whole_when"};
    std::unique_ptr<state> made(new state(where, root, std::move(options)));
    state& self = *made;
    if (self.options.exclusive) {
      const std::string path = detail::location_access::local_path(where);
      const bool is_file = self.is_path() && path.find("://") == std::string::npos;
      if (!is_file && root.can_publish()) {
        ZARRPOINT_TRY(beneath, state::key(state::folder));
        const auto staged = root.stage(beneath);
        if (!staged && staged.failure().code == errc::unsupported)
          return error{errc::unsupported,
                       "manage " + where.name() +
                           ": this store publishes at its root alone, and steps lie beneath: "
                           "give it places() of the store where it has them, or save each step to "
                           "a place of its own"};
      }
      auto locked = is_file ? detail::place_lock::take(path, state::folder)
                            : result<detail::place_lock>(error{errc::unsupported, ""});
      if (locked) {
        self.warnings = locked->uncleaned();
        self.lock = *std::move(locked);
      } else if (locked.failure().code == errc::unsupported) {
        self.owner = detail::random_id();
        ZARRPOINT_TRY(owner_key, state::note("owner"));
        ZARRPOINT_CHECK(root.put(owner_key, as_bytes(self.owner)));
      } else {
        return std::move(locked).failure();
      }
      ZARRPOINT_CHECK(self.finish_what_was_begun());
    }
    ZARRPOINT_CHECK(self.scan());
    return checkpoint_manager(std::move(made));
  });
}

ZARRPOINT_INLINE bool checkpoint_manager::should_save(std::int64_t step) const {
  save_moment at{.step = step, .now = state_->options.clock(), .opened = state_->opened};
  const auto note = [&](std::int64_t other, wall_time time) {
    if (!at.last_step || other > *at.last_step) at.last_step = other;
    if (!at.last_time || time > *at.last_time) at.last_time = time;
    return other == step;
  };
  bool is_there = step < 0;
  {
    const std::lock_guard hold(state_->mutex);
    for (const step_record& one : state_->records)
      if (one.fault.empty()) is_there |= note(one.step, one.saved_at);
  }
  for (const auto& one : state_->under_way)
    if (!one.done.ready()) is_there |= note(one.step, at.now);
  for (const auto& [other, time] : state_->of_group) is_there |= note(other, time);
  if (is_there) return false;
  return save_requested() || state_->options.save_when(at);
}

ZARRPOINT_INLINE void checkpoint_manager::request_save() noexcept {
  static_assert(std::atomic<bool>::is_always_lock_free);  // what makes it safe in a signal handler
  state_->requested.store(true, std::memory_order_relaxed);
}
ZARRPOINT_INLINE bool checkpoint_manager::save_requested() const noexcept {
  if (!state_->requested.load(std::memory_order_relaxed)) return false;
  state_->has_seen_request = true;
  return true;
}

ZARRPOINT_INLINE result<bool> checkpoint_manager::save(std::int64_t step, std::vector<leaf> leaves,
                                                       std::vector<step_metric> metrics) {
  return guarded([&] {
           std::vector<step_item> items(1);
           items.front().leaves = std::move(leaves);
           return state_->begin(step, std::move(items), std::move(metrics), true);
         })
      .at("save step " + std::to_string(step) + " in " + state_->where.name());
}

ZARRPOINT_INLINE result<bool> checkpoint_manager::save_items(std::int64_t step,
                                                             std::vector<step_item> items,
                                                             std::vector<step_metric> metrics) {
  return guarded([&] { return state_->begin(step, std::move(items), std::move(metrics), false); })
      .at("save step " + std::to_string(step) + " in " + state_->where.name());
}

ZARRPOINT_INLINE result<void> checkpoint_manager::wait() {
  return guarded([&] {
    state_->reap(1);
    state_->wait_for_removals();
    return state_->tell();
  });
}

ZARRPOINT_INLINE result<void> checkpoint_manager::close() {
  static_cast<void>(wait());  // it is the first, or comes after it
  state_->is_closed = true;
  state_->lock.reset();
  const std::lock_guard hold(state_->mutex);
  state_->untold.reset();
  if (!state_->first) return {};
  error out = *state_->first;
  if (state_->errors > 1)
    out.message += "; and " + std::to_string(state_->errors - 1) + " more errors after it";
  return out.at("close the manager of " + state_->where.name());
}

ZARRPOINT_INLINE std::vector<step_record> checkpoint_manager::records() const {
  const std::lock_guard hold(state_->mutex);
  return state_->records;
}

ZARRPOINT_INLINE std::vector<std::int64_t> checkpoint_manager::steps() const {
  const std::lock_guard hold(state_->mutex);
  std::vector<std::int64_t> out;
  for (const step_record& one : state_->records)
    if (one.fault.empty()) out.push_back(one.step);
  return out;
}

ZARRPOINT_INLINE result<std::optional<std::int64_t>> checkpoint_manager::latest() {
  return guarded([&]() -> result<std::optional<std::int64_t>> {
    const std::vector<step_record> known = records();
    for (auto at = known.rbegin(); at != known.rend(); ++at) {
      ZARRPOINT_TRY(fault, state_->fault_of(at->name));
      if (!fault) return std::optional(at->step);
      ZARRPOINT_TRY(is_passed_over, state_->pass_over(*at));
      if (!is_passed_over) return latest();
    }
    return std::optional<std::int64_t>();
  });
}

ZARRPOINT_INLINE result<std::optional<std::int64_t>> checkpoint_manager::best(
    std::string_view metric, better is) {
  return guarded([&]() -> result<std::optional<std::int64_t>> {
    while (true) {
      std::vector<step_record> whole = records();
      std::erase_if(whole, [](const step_record& one) { return !one.fault.empty(); });
      const step_record* const found = best_of(whole, metric, is);
      if (found == nullptr) return std::optional<std::int64_t>();
      ZARRPOINT_TRY(fault, state_->fault_of(found->name));
      if (!fault) return std::optional(found->step);
      ZARRPOINT_CHECK(state_->pass_over(*found));
    }
  });
}

ZARRPOINT_INLINE result<restored_step> checkpoint_manager::restore(std::int64_t step,
                                                                   std::string_view item) {
  const auto run = [&]() -> result<restored_step> {
    ZARRPOINT_TRY(name, state_->name_to_open(step, item));
    std::vector<step_metric> metrics;
    {
      const std::lock_guard hold(state_->mutex);
      if (const step_record* const found = state_->find(step)) metrics = found->metrics;
    }
    ZARRPOINT_TRY(at, state_->place(name));
    ZARRPOINT_TRY(opened, state_->open_step(at));
    return restored_step{step, std::move(opened), std::move(metrics)};
  };
  return guarded(run).at("restore step " + std::to_string(step) + " of " + state_->where.name());
}

ZARRPOINT_INLINE result<restored_step> checkpoint_manager::restore_latest(std::string_view item) {
  ZARRPOINT_TRY(found, latest());
  if (!found) return error{errc::not_found, state_->where.name() + " has no whole step"};
  return restore(*found, item);
}

ZARRPOINT_INLINE result<restored_step> checkpoint_manager::restore_best(std::string_view metric,
                                                                        better is,
                                                                        std::string_view item) {
  ZARRPOINT_TRY(found, best(metric, is));
  if (!found)
    return error{errc::not_found, state_->where.name() + " has no whole step with the metric " +
                                      detail::in_quotes(metric)};
  return restore(*found, item);
}

ZARRPOINT_INLINE result<json> checkpoint_manager::document(std::int64_t step,
                                                           std::string_view item) const {
  const std::string name = state_->name_for(step);
  ZARRPOINT_TRY(at, state::key(name + '/' + std::string(item)));
  ZARRPOINT_TRY(text, get(state_->root, at, state_->options.how.limit.metadata_bytes));
  if (!text) return error{errc::not_found, state_->root.describe(at) + " is not there"};
  return parse_json(*text, detail::document_limits(state_->options.how.limit))
      .at("read " + state_->root.describe(at));
}

ZARRPOINT_INLINE std::vector<step_removal> checkpoint_manager::dry_run() const {
  return dry_run(state_->options.keep);
}
ZARRPOINT_INLINE std::vector<step_removal> checkpoint_manager::dry_run(
    const keep_policy& keep) const {
  return state_->would_go(keep);
}
ZARRPOINT_INLINE result<std::vector<step_removal>> checkpoint_manager::prune() {
  return prune(state_->options.keep);
}
ZARRPOINT_INLINE result<std::vector<step_removal>> checkpoint_manager::prune(
    const keep_policy& keep) {
  return guarded([&]() -> result<std::vector<step_removal>> {
    // The newest one is not to be trusted before it was looked at.
    ZARRPOINT_CHECK(latest());
    return state_->prune(keep);
  });
}

ZARRPOINT_INLINE result<void> checkpoint_manager::remove(std::int64_t step, bool force) {
  const auto run = [&]() -> result<void> {
    ZARRPOINT_CHECK(state_->check_owner());
    ZARRPOINT_CHECK(state_->read_pins());
    ZARRPOINT_TRY(newest, latest());
    step_record record;
    {
      const std::lock_guard hold(state_->mutex);
      const step_record* const found = state_->find(step);
      if (found == nullptr) return error{errc::not_found, "there is no such step"};
      record = *found;
    }
    if (!force && newest == step)
      return error{errc::invalid_argument, "it is the newest whole step"};
    if (!force && record.is_pinned) return error{errc::invalid_argument, "it is to be kept"};
    const std::lock_guard one_at_a_time(state_->pruning);
    {
      const std::lock_guard hold(state_->mutex);
      if (state_->is_held(step)) return error{errc::invalid_argument, "it is being saved"};
    }
    return state_->remove(record);
  };
  return guarded(run).at("remove step " + std::to_string(step) + " of " + state_->where.name());
}

ZARRPOINT_INLINE result<void> checkpoint_manager::pin(std::int64_t step, bool pinned) {
  const auto run = [&]() -> result<void> {
    {
      const std::lock_guard hold(state_->mutex);
      if (state_->find(step) == nullptr) return error{errc::not_found, "there is no such step"};
    }
    ZARRPOINT_TRY(at, state::note("keep_" + std::to_string(step)));
    if (pinned) {
      ZARRPOINT_CHECK(state_->root.put(at, {}));
    } else {
      ZARRPOINT_CHECK(state_->root.erase(at));
    }
    return state_->read_pins();
  };
  return guarded(run).at("keep step " + std::to_string(step) + " of " + state_->where.name());
}

ZARRPOINT_INLINE result<void> checkpoint_manager::refresh() {
  return guarded([&] { return state_->scan(); });
}

ZARRPOINT_INLINE std::vector<std::string> checkpoint_manager::warnings() {
  const std::lock_guard hold(state_->mutex);
  return std::exchange(state_->warnings, {});
}

ZARRPOINT_INLINE std::optional<save_report> checkpoint_manager::last_report() const {
  const std::lock_guard hold(state_->mutex);
  return state_->report;
}

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/array/hierarchy/bodies.hpp>
#include <zarrpoint/checkpoint/load/bodies.hpp>
#include <zarrpoint/checkpoint/save/save_bodies.hpp>
#include <zarrpoint/checkpoint/verify/verify_bodies.hpp>
#include <zarrpoint/delta/bodies.hpp>
#include <zarrpoint/manager/policy_bodies.hpp>
#endif
