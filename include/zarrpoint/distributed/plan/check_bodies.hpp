// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/sort.hpp>
#include <zarrpoint/distributed/plan/validate_sharding.hpp>

#include <set>
#include <string_view>

namespace zarrpoint { inline namespace v0 { namespace detail {

// --------------------------------------------------------------------------- validate_sharding.hpp

ZARRPOINT_INLINE std::vector<std::uint32_t> tiling_checker::join_ranges(
    const shard_form& form, std::span<const sorted_shard> mains) {
  std::vector<std::uint32_t> out;
  out.reserve(mains.size());
  for (std::size_t begin = 0; begin < mains.size();) {
    const std::uint32_t first = mains[begin].shard;
    std::size_t end = begin + 1;
    while (form.is_flat && end < mains.size() &&
           mains[end].first_element == mains[begin].first_element &&
           std::ranges::equal(table_.local_shape(mains[end].shard), table_.local_shape(first)))
      ++end;
    if (form.is_flat) check_ranges(form, mains.subspan(begin, end - begin));
    out.push_back(first);
    begin = end;
  }
  return out;
}

ZARRPOINT_INLINE void tiling_checker::check_regular(const shard_form& form,
                                                    std::span<const std::uint32_t> boxes) {
  const dims fragments(std::span<const index_t>(form.fragmentation));
  const index_t cells = element_count(fragments).value_or(0);
  std::vector<std::string> holes;
  index_t wanted = 0;  // the next cell that should come
  index_t there = 0;
  for (std::size_t i = 0; i < boxes.size();) {
    const index_t cell = cell_of(boxes[i]);
    std::size_t end = i + 1;
    while (end < boxes.size() && cell_of(boxes[end]) == cell) ++end;
    if (end - i > 1) note_copies(form, boxes.subspan(i, end - i));
    for (; wanted < cell && holes.size() < sharding_problems::max_named; ++wanted)
      holes.push_back(to_string(cell_box(form, wanted)));
    wanted = cell + 1;
    ++there;
    i = end;
  }
  for (; wanted < cells && holes.size() < sharding_problems::max_named; ++wanted)
    holes.push_back(to_string(cell_box(form, wanted)));
  note_holes(form, holes, cells - there, cells, "shards");
}

ZARRPOINT_INLINE void tiling_checker::check_irregular(const shard_form& form,
                                                      std::span<const std::uint32_t> boxes) {
  const std::size_t rank = form.rank();
  axis_cuts cuts(rank);
  detail::box_list list(rank);
  list.reserve(boxes.size());
  index_t held = 0;  // elements; of shards that overlap it may be any number
  for (const std::uint32_t shard : boxes) {
    const box one = table_.global_box(shard);
    list.add(one);
    if (__builtin_add_overflow(held, element_count(one.shape).value_or(0), &held)) held = INT64_MAX;
    for (std::size_t axis = 0; axis < rank; ++axis)
      cuts.add(axis, one.offset[axis], one.offset[axis] + one.shape[axis]);
  }
  index_t cells = 1;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    cuts.add(axis, 0, form.global_shape[axis]);
    cells = saturating_mul(cells, static_cast<index_t>(cuts.of(axis).size()) - 1);
  }
  const index_t most = 8 * static_cast<index_t>(boxes.size()) + 4096;
  bool overlaps = true;
  if (cells <= most && count_cells(form, cuts, list, cells, overlaps)) {
    if (overlaps) note_overlaps(form, boxes, list);
    return;
  }
  if (note_overlaps(form, boxes, list)) return;
  const index_t all = element_count(dims(std::span<const index_t>(form.global_shape))).value_or(0);
  if (held < all)
    problems_.add(form.key, [&] {
      return std::to_string(all - held) + " of " + std::to_string(all) +
             " elements are in no shard";
    });
}

ZARRPOINT_INLINE void tiling_checker::check_ranges(const shard_form& form,
                                                   std::span<const sorted_shard> pieces) {
  const std::uint32_t any = pieces.front().shard;
  const index_t volume = element_count(dims(table_.local_shape(any))).value_or(0);
  const auto where = [&] { return " of shard " + to_string(table_.global_box(any)); };
  index_t covered = 0;
  int last = 0;
  const auto miss = [&](index_t stop) {
    problems_.add(form.key, [&] {
      return "elements " + to_string(flat_range{covered, stop}) + where() + " are in no flat range";
    });
  };
  for (const sorted_shard& one : pieces) {
    const flat_range range = table_.range(one.shard).value_or(flat_range{});
    if (range.start > covered) miss(range.start);
    if (range.start < covered)
      problems_.add(form.key, [&] {
        process_list holders;
        holders.add(last);
        holders.add(table_.rank(one.shard));
        return "elements " + to_string(flat_range{range.start, std::min(range.stop, covered)}) +
               where() + " are in two flat ranges, of " + holders.text();
      });
    if (range.stop > covered) last = table_.rank(one.shard);
    covered = std::max(covered, range.stop);
  }
  if (covered < volume) miss(volume);
}

ZARRPOINT_INLINE index_t tiling_checker::cell_of(std::uint32_t shard) const {
  const shard_form& form = table_.form(shard);
  const auto offset = table_.offset(shard);
  index_t cell = 0;
  for (std::size_t axis = 0; axis < form.rank(); ++axis)
    cell = cell * form.fragmentation[axis] + offset[axis] / table_.extent(shard, axis);
  return cell;
}

ZARRPOINT_INLINE box tiling_checker::cell_box(const shard_form& form, index_t cell) {
  box out{dims(form.rank(), 0), dims(form.prepended_axes, 1)};
  for (const index_t n : form.local_shape) out.shape.push_back(n);
  for (std::size_t axis = form.rank(); axis-- > 0;) {
    out.offset[axis] = cell % form.fragmentation[axis] * out.shape[axis];
    cell /= form.fragmentation[axis];
  }
  return out;
}

ZARRPOINT_INLINE void tiling_checker::note_copies(const shard_form& form,
                                                  std::span<const std::uint32_t> copies) {
  problems_.add(form.key, [&] {
    process_list holders;
    for (const std::uint32_t one : copies) holders.add(table_.rank(one));
    return "shard " + to_string(table_.global_box(copies.front())) + " is the main replica " +
           std::to_string(copies.size()) + " times, on " + holders.text();
  });
}

ZARRPOINT_INLINE void tiling_checker::note_holes(const shard_form& form,
                                                 const std::vector<std::string>& holes,
                                                 index_t missing, index_t all,
                                                 std::string_view what) {
  if (missing <= 0) return;
  problems_.add(form.key, [&] {
    return std::to_string(missing) + " of " + std::to_string(all) + " " + std::string(what) +
           " have no main replica: " + list_text(holes, missing);
  });
}

ZARRPOINT_INLINE bool tiling_checker::count_cells(const shard_form& form, axis_cuts& cuts,
                                                  const detail::box_list& list, index_t cells,
                                                  bool& overlaps) {
  const std::size_t rank = form.rank();
  std::vector<std::uint8_t> counts(static_cast<std::size_t>(cells), 0);
  index_t budget = 16 * cells + 4096;
  overlaps = false;
  for (std::size_t i = 0; i < list.size(); ++i) {
    dims first;
    dims end;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const std::vector<index_t>& places = cuts.of(axis);
      const auto number = [&](index_t at) {
        return std::lower_bound(places.begin(), places.end(), at) - places.begin();
      };
      first.push_back(number(list.begin(i, axis)));
      end.push_back(number(list.end(i, axis)));
    }
    for (dims at = first;;) {
      if (budget-- == 0) return false;
      std::size_t cell = 0;
      for (std::size_t axis = 0; axis < rank; ++axis)
        cell = cell * (cuts.of(axis).size() - 1) + static_cast<std::size_t>(at[axis]);
      overlaps = overlaps || counts[cell] != 0;
      counts[cell] = 1;
      std::size_t axis = rank;
      while (axis-- > 0) {
        if (++at[axis] < end[axis]) break;
        at[axis] = first[axis];
      }
      if (axis == SIZE_MAX) break;
    }
  }
  std::vector<std::string> holes;
  index_t missing = 0;
  for (std::size_t cell = 0; cell < counts.size(); ++cell) {
    if (counts[cell] != 0) continue;
    ++missing;
    if (holes.size() == sharding_problems::max_named) continue;
    holes.push_back(to_string(cuts.cell(cell)));
  }
  note_holes(form, holes, missing, cells, "parts between the boundaries of shards");
  return true;
}

ZARRPOINT_INLINE bool tiling_checker::note_overlaps(const shard_form& form,
                                                    std::span<const std::uint32_t> boxes,
                                                    const detail::box_list& list) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  detail::for_each_overlap(list, list, [&](std::uint32_t a, std::uint32_t b) {
    if (a != b) pairs.insert(std::minmax(a, b));
    return pairs.size() < sharding_problems::max_named;
  });
  for (const auto& pair : pairs)
    problems_.add(form.key, [&] {
      const auto side = [&](std::uint32_t i) {
        return to_string(list.at(i)) + " on process " + std::to_string(table_.rank(boxes[i]));
      };
      return "shards overlap: " + side(pair.first) + " and " + side(pair.second);
    });
  return !pairs.empty();
}

ZARRPOINT_INLINE void process_list::add(int rank) {
  if (!ranks_.empty() && ranks_.back() == rank) return;
  const auto at = std::lower_bound(ranks_.begin(), ranks_.end(), rank);
  if (at != ranks_.end() && *at == rank) return;
  ranks_.insert(at, rank);
  if (ranks_.size() > most) {
    ranks_.pop_back();
    more_ = true;
  }
}

ZARRPOINT_INLINE void process_list::add(const process_list& others) {
  for (const int rank : others.ranks_) add(rank);
  more_ = more_ || others.more_;
}

ZARRPOINT_INLINE std::string process_list::text() const {
  std::string out = ranks_.size() == 1 && !more_ ? "process " : "processes ";
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (i != 0) out += i + 1 == ranks_.size() && !more_ ? " and " : ", ";
    out += std::to_string(ranks_[i]);
  }
  return more_ ? out + " and others" : out;
}

ZARRPOINT_INLINE std::string list_text(const std::vector<std::string>& named, long long all) {
  std::string out;
  for (std::size_t i = 0; i < named.size(); ++i) out += (i == 0 ? "" : ", ") + named[i];
  return static_cast<long long>(named.size()) < all ? out + ", ..." : out;
}

ZARRPOINT_INLINE result<void> sharding_problems::finish() && {
  if (count_ == 0) return {};
  std::string text =
      "the sharding has " + std::to_string(count_) + (count_ == 1 ? " problem:" : " problems:");
  std::size_t said = 0;
  for (auto& [key, of_key] : by_key_) {
    for (const std::string& one : of_key) {
      if (said++ == max_in_all) break;
      text += "\n  \"" + shorten(key) + "\": " + one;
    }
    if (said > max_in_all) break;
  }
  said = std::min(said, max_in_all);
  if (said < count_) text += "\n  and " + std::to_string(count_ - said) + " more";
  return error{errc::invalid_argument, std::move(text)};
}

ZARRPOINT_INLINE std::string sharding_problems::shorten(std::string text) {
  if (text.size() <= max_length) return text;
  text.resize(max_length);
  return text += "...";
}

/// Checks tensor after tensor, then the objects.
class sharding_validator {
 public:
  explicit sharding_validator(const shard_table& table) : table_(table), keys_(table.forms()) {}

  void check_tensors() {
    std::vector<std::uint8_t> is_bad(keys_.keys, 0);
    check_shards(is_bad);
    check_forms(is_bad);
    const std::vector<std::uint32_t> mains = main_shards(table_);
    const std::vector<sorted_shard> sorted = sort_shards(table_, keys_, mains);
    std::size_t at = 0;
    for (std::size_t f = 0; f < keys_.forms.size(); ++f) {
      const std::uint32_t key = keys_.key_of[keys_.forms[f]];
      if (f != 0 && keys_.key_of[keys_.forms[f - 1]] == key) continue;
      const std::size_t begin = at;
      while (at < sorted.size() && sorted[at].key == key) ++at;
      if (is_bad[key] != 0) continue;  // where its shards belong is not known
      check_cover(table_.forms()[keys_.forms[f]], std::span(sorted).subspan(begin, at - begin));
    }
  }

  void check_objects(std::span<const gathered_object> objects) {
    std::vector<const gathered_object*> sorted;
    for (const gathered_object& one : objects) sorted.push_back(&one);
    sort_by(sorted, [](const auto* a, const auto* b) {
      if (const int order = a->id.key.compare(b->id.key); order != 0) return order < 0;
      const auto& x = a->id.global_offset;
      const auto& y = b->id.global_offset;
      if (x != y) return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
      return a->rank < b->rank;
    });
    for (std::size_t begin = 0; begin < sorted.size();) {
      std::size_t end = begin;
      while (end < sorted.size() && sorted[end]->id.key == sorted[begin]->id.key) ++end;
      check_object(std::span(sorted).subspan(begin, end - begin));
      begin = end;
    }
  }

  result<void> finish() && { return std::move(problems_).finish(); }

 private:
  /// What each shard says of itself: `shard_metadata::check`, of most of them in short.
  void check_shards(std::vector<std::uint8_t>& is_bad) {
    std::vector<index_t> volumes;  // of a regular form's shards; -1: the form makes no sense
    for (const shard_form& form : table_.forms()) volumes.push_back(checked_volume(form));
    for (std::size_t i = 0; i < table_.size(); ++i) {
      if (fits(i, volumes[table_.form_number(i)])) continue;
      if (const auto status = table_.metadata(i).check(); !status) {
        is_bad[keys_.key_of[table_.form_number(i)]] = 1;
        problems_.add(table_.form(i).key, [&] {
          return "process " + std::to_string(table_.rank(i)) + ": " + status.failure().message;
        });
      }
    }
  }

  static index_t checked_volume(const shard_form& form) {
    shard_metadata one{.key = form.key,
                       .type = form.type,
                       .local_shape = dims(form.local_rank(), 0),
                       .global_shape = dims(std::span<const index_t>(form.global_shape)),
                       .global_offset = dims(form.rank(), 0),
                       .prepended_axes = form.prepended_axes};
    if (form.is_regular) {
      one.fragmentation = dims(std::span<const index_t>(form.fragmentation));
      one.local_shape = dims(std::span<const index_t>(form.local_shape));
    }
    if (!one.check()) return -1;
    return form.is_regular ? element_count(one.local_shape).value() : 0;
  }

  /// Whether a shard fits the tensor, of which it is known that it makes sense.
  bool fits(std::size_t i, index_t volume) const {
    const shard_form& form = table_.form(i);
    if (volume < 0 || (form.is_flat && form.local_rank() == 0)) return false;
    const auto offset = table_.offset(i);
    for (std::size_t axis = 0; axis < form.rank(); ++axis) {
      const index_t extent = table_.extent(i, axis);
      if (extent < 0 || offset[axis] < 0 || extent > form.global_shape[axis] ||
          offset[axis] > form.global_shape[axis] - extent)
        return false;
      if (form.is_regular && extent != 0 && offset[axis] % extent != 0) return false;
    }
    const auto range = table_.range(i);
    return !range || (form.is_regular && range->start >= 0 && range->stop >= range->start &&
                      range->stop <= volume);
  }

  /// Whether processes are of one mind about each tensor.
  void check_forms(std::vector<std::uint8_t>& is_bad) {
    // The processes of each form; only looked for once there is somebody to be named.
    std::vector<process_list> holders;
    const auto compare = [&](std::span<const std::uint32_t> forms, std::string_view what,
                             std::string (*text_of)(const shard_form&)) {
      const shard_form& first = table_.forms()[forms.front()];
      std::vector<std::pair<std::string, process_list>> found;
      for (const std::uint32_t f : forms) {
        if (holders.empty()) {
          holders.resize(table_.forms().size());
          for (std::size_t i = 0; i < table_.size(); ++i)
            holders[table_.form_number(i)].add(table_.rank(i));
        }
        const std::string text = text_of(table_.forms()[f]);
        const auto same = std::find_if(found.begin(), found.end(),
                                       [&](const auto& one) { return one.first == text; });
        if (same != found.end()) {
          same->second.add(holders[f]);
        } else if (found.size() < sharding_problems::max_named) {
          found.emplace_back(text, holders[f]);
        }
      }
      if (found.size() < 2) return;
      is_bad[keys_.key_of[forms.front()]] = 1;
      problems_.add(first.key, [&] {
        std::string text(what);
        for (std::size_t i = 0; i < found.size(); ++i)
          text += (i == 0 ? " " : ", ") + found[i].first + " on " + found[i].second.text();
        return text;
      });
    };
    static constexpr auto list = [](const std::vector<index_t>& values) {
      return to_string(dims(std::span<const index_t>(values)));
    };
    using form = shard_form;
    for (std::size_t begin = 0; begin < keys_.forms.size();) {
      std::size_t end = begin + 1;
      while (end < keys_.forms.size() &&
             keys_.key_of[keys_.forms[end]] == keys_.key_of[keys_.forms[begin]])
        ++end;
      const auto forms = std::span<const std::uint32_t>(keys_.forms).subspan(begin, end - begin);
      begin = end;
      if (forms.size() == 1) continue;
      compare(forms, "dtype is", [](const form& f) {
        return std::string(to_string(f.type)) +
               (f.type.size() != 0 ? " of " + std::to_string(f.type.size()) + " bytes" : "");
      });
      compare(forms, "global shape is", [](const form& f) { return list(f.global_shape); });
      compare(forms, "number of prepended axes is",
              [](const form& f) { return std::to_string(f.prepended_axes); });
      compare(forms, "grid is",
              [](const form& f) { return std::string(f.is_regular ? "regular" : "irregular"); });
      compare(forms, "shards are",
              [](const form& f) { return std::string(f.is_flat ? "flat pieces" : "whole"); });
      if (!table_.forms()[forms.front()].is_regular) continue;
      compare(forms, "fragmentation is", [](const form& f) { return list(f.fragmentation); });
      compare(forms, "local shape is", [](const form& f) { return list(f.local_shape); });
    }
  }

  /// Whether the main replicas hold each element of a tensor once.
  void check_cover(const shard_form& form, std::span<const sorted_shard> mains) {
    const index_t elements =
        element_count(dims(std::span<const index_t>(form.global_shape))).value_or(0);
    if (elements == 0) return;
    if (mains.empty())
      return problems_.add(form.key, [] { return "no process has a main replica of any element"; });
    tiling_checker tiling(table_, problems_);
    const std::vector<std::uint32_t> boxes = tiling.join_ranges(form, mains);
    if (form.is_regular) {
      tiling.check_regular(form, boxes);
    } else {
      tiling.check_irregular(form, boxes);
    }
  }

  void check_object(std::span<const gathered_object* const> objects) {
    const object_id& first = objects.front()->id;
    bool is_bad = false;
    const auto tensor = std::lower_bound(
        keys_.forms.begin(), keys_.forms.end(), first.key,
        [&](std::uint32_t f, const std::string& key) { return table_.forms()[f].key < key; });
    if (tensor != keys_.forms.end() && table_.forms()[*tensor].key == first.key)
      problems_.add(first.key, [] { return "is both a tensor and an object"; });
    process_list others;
    for (const gathered_object* one : objects) {
      if (const auto status = one->id.check(); !status) {
        is_bad = true;
        problems_.add(first.key, [&] {
          return "process " + std::to_string(one->rank) + ": " + status.failure().message;
        });
      } else if (one->id.global_shape != first.global_shape) {
        others.add(one->rank);
      }
    }
    if (!others.empty()) {
      is_bad = true;
      problems_.add(first.key, [&] {
        return "objects are " + to_string(first.global_shape) + " on process " +
               std::to_string(objects.front()->rank) + ", something else on " + others.text();
      });
    }
    if (is_bad) return;
    std::vector<const gathered_object*> mains;
    std::copy_if(objects.begin(), objects.end(), std::back_inserter(mains),
                 [](const gathered_object* one) { return one->is_main; });
    count_objects(first, mains);
  }

  void count_objects(const object_id& any, std::span<const gathered_object* const> mains) {
    index_t there = 0;
    object_id missing{any.key, any.global_shape, dims(any.global_shape.rank(), 0)};
    std::vector<std::string> named;
    const auto next = [&] {
      dims& at = missing.global_offset;
      for (std::size_t axis = at.rank(); axis-- > 0;) {
        if (++at[axis] < any.global_shape[axis]) return;
        at[axis] = 0;
      }
    };
    for (std::size_t i = 0; i < mains.size();) {
      std::size_t end = i + 1;
      process_list holders;
      holders.add(mains[i]->rank);
      for (; end < mains.size() && mains[end]->id == mains[i]->id; ++end)
        holders.add(mains[end]->rank);
      if (end - i > 1)
        problems_.add(any.key, [&] {
          return "object " + unique_key(mains[i]->id) + " is the main replica on " + holders.text();
        });
      while (missing.global_offset != mains[i]->id.global_offset &&
             named.size() < sharding_problems::max_named) {
        named.push_back(unique_key(missing));
        next();
      }
      if (named.size() < sharding_problems::max_named) next();
      ++there;
      i = end;
    }
    const index_t all = element_count(any.global_shape).value_or(0);
    if (there >= all) return;
    while (named.size() < sharding_problems::max_named &&
           static_cast<index_t>(named.size()) < all - there) {
      named.push_back(unique_key(missing));
      next();
    }
    problems_.add(any.key, [&] {
      return std::to_string(all - there) + " of " + std::to_string(all) +
             " objects have no main replica: " + list_text(named, all - there);
    });
  }

  const shard_table& table_;
  key_order keys_;
  sharding_problems problems_;
};

ZARRPOINT_INLINE result<void> validate_sharding(const shard_table& shards,
                                                std::span<const gathered_object> objects) {
  detail::sharding_validator validator(shards);
  validator.check_tensors();
  validator.check_objects(objects);
  return std::move(validator).finish();
}

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/distributed/plan/table_bodies.hpp>
#include <zarrpoint/distributed/shard/part_bodies.hpp>
#endif
