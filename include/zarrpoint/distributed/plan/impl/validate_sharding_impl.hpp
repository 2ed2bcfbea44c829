// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/box.hpp>
#include <zarrpoint/core/dims.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/sort_texts.hpp>
#include <zarrpoint/distributed/plan/check_tiling.hpp>
#include <zarrpoint/distributed/plan/shard_table.hpp>
#include <zarrpoint/distributed/plan/sharding_problems.hpp>
#include <zarrpoint/distributed/plan/validate_sharding.hpp>
#include <zarrpoint/distributed/shard/sharded_object.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

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
