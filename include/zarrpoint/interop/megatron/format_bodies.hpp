// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/make_owner.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/interop/hierarchy/virtual_store.hpp>
#include <zarrpoint/interop/megatron/megatron_format.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace zarrpoint { inline namespace v0 { namespace megatron {

// ----------------------------------------------------------------------------- megatron_format.hpp

namespace detail {

/// The tensors of a directory, as a store. Copies share it.
class tensor_folders : public v0::detail::virtual_store {
 public:
  using virtual_store::open;
  /// `memory`: what names of folders may take, and what is kept of them.
  static result<tensor_folders> open(const any_store& directory, std::uint64_t memory) {
    const auto made = v0::detail::make_counted<state>(directory);
    ZARRPOINT_CHECK(made->add_folders(memory));
    ZARRPOINT_CHECK(made->tree.finish({}));
    return tensor_folders(made);
  }

 private:
  struct state final : v0::detail::lazy_nodes {
    explicit state(any_store directory) : base(std::move(directory)) {}

    static constexpr std::uint64_t most_document_bytes = std::uint64_t{1} << 20;

    any_store base;
    std::vector<store_key> folders;  ///< the nodes of `tree`, by their numbers
    v0::detail::virtual_hierarchy tree;

    std::string original_name(std::size_t number) const override {
      return std::string(folders[number].str());
    }
    // It has documents of its own, of Zarr v2.
    result<json> document(std::size_t) const override { return json(); }
    result<dims> counts(std::size_t) const override { return dims(); }
    result<std::unique_ptr<blob>> chunk(std::size_t, std::string_view, std::string) const override {
      return std::unique_ptr<blob>();
    }

    result<std::unique_ptr<blob>> open(const v0::detail::hierarchy_place& at, std::string_view rest,
                                       std::string called) const override {
      ZARRPOINT_TRY(key, folders[at.number].child(rest));
      ZARRPOINT_TRY(object, base.open(key));
      const bool is_chunk = !rest.empty() && rest.find_first_not_of("0123456789.") == rest.npos;
      if (object != nullptr || !is_chunk)
        return with_name(at, rest, std::move(object), most_document_bytes);
      ZARRPOINT_TRY(document, document_of(folders[at.number]));
      const json* const fill = document.find("fill_value");
      if (fill == nullptr || !fill->is_null()) return std::move(object);
      return error{errc::not_found, called + ": a chunk is missing, and Megatron-Core stores all"};
    }
    result<std::vector<list_entry>> list(std::size_t number,
                                         std::string_view prefix) const override {
      ZARRPOINT_TRY(key, folders[number].child(prefix));
      return base.list(key);
    }

    std::string describe(std::size_t number, std::string_view rest) const override {
      return base.describe(folders[number].child(rest).value_or(folders[number]));
    }

    result<json> document_of(const store_key& folder) const {
      ZARRPOINT_TRY(key, folder.child(".zarray"));
      ZARRPOINT_TRY(text, get(base, key, most_document_bytes));
      if (!text || text->empty()) return json();  // the lock of a process
      return parse_json(*text).at(base.describe(key));
    }

    /// Nothing lists the tensors, and their keys may have slashes in them: all folders are visited.
    result<void> add_folders(std::uint64_t memory) {
      constexpr std::size_t most = 100'000;
      constexpr std::uint64_t beside_name = 256;  // what a folder takes apart from its name
      std::uint64_t taken = 0;
      std::vector<store_key> open{store_key::root()};
      for (std::size_t seen = 0; !open.empty(); ++seen) {
        const store_key at = std::move(open.back());
        open.pop_back();
        if (seen == most || std::count(at.str().begin(), at.str().end(), '/') > 64)
          return error{
              errc::resource_limit,
              base.describe(at) + ": it has more than 100,000 folders, or 64 levels of them"};
        ZARRPOINT_TRY(entries, base.list(at));
        bool is_array = false;
        for (const list_entry& each : entries) {
          if (each.name != ".zarray" || at.is_root()) continue;
          ZARRPOINT_TRY(key, at.child(each.name));
          ZARRPOINT_TRY(object, base.open(key));
          is_array = object != nullptr && object->size() > 0;
        }
        if (is_array) {
          tree.add(std::string(at.str()), *this, folders.size());
          folders.push_back(at);
          continue;
        }
        for (const list_entry& each : entries) {
          auto child = at.child(each.name);
          if (!each.is_prefix || !child) continue;
          taken += beside_name + 2 * child->str().size();
          if (taken > memory)
            return error{errc::resource_limit,
                         base.describe(at) + ": its folders take more than the " +
                             std::to_string(memory) + " bytes that they may; raise limits::memory"};
          open.push_back(*std::move(child));
        }
      }
      return {};
    }
  };

  explicit tensor_folders(const std::shared_ptr<const state>& made)
      : virtual_store({made, &made->tree}, made->base.describe(store_key::root())) {}
};

}  // namespace detail

ZARRPOINT_INLINE result<claim> format::sniff(const place_look& at) {
  if (!at.is_directory()) return claim::none;
  ZARRPOINT_TRY(key, store_key::parse("metadata.json"));
  ZARRPOINT_TRY(object, at.directory().open(key));
  constexpr std::uint64_t most = std::uint64_t{64} << 10;
  if (object == nullptr || object->size() > most) return claim::none;
  ZARRPOINT_TRY(is_zarr, at.has_zarr());
  ZARRPOINT_TRY(text, get(at.directory(), key, most));
  const auto told = parse_json(text ? bytes_view(*text) : bytes_view());
  const json* const backend = told ? told->find("sharded_backend") : nullptr;
  return !is_zarr && backend != nullptr && *backend == json("zarr") ? claim::plain : claim::none;
}

ZARRPOINT_INLINE result<stored_place> format::open(const place_look& at, const place_use& use) {
  ZARRPOINT_CHECK(at.check_directory());
  ZARRPOINT_TRY(opened,
                guarded([&] { return detail::tensor_folders::open(at.directory(), use.memory); }));
  return at.within(std::move(opened), "Megatron-Core zarr checkpoint");
}

}}}  // namespace zarrpoint::v0::megatron

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/hierarchy/bodies.hpp>
#endif
