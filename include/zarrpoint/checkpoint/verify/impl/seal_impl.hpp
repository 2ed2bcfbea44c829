// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/hierarchy/stored_node.hpp>
#include <zarrpoint/checkpoint/document/contents.hpp>
#include <zarrpoint/checkpoint/document/names.hpp>
#include <zarrpoint/checkpoint/location_access.hpp>
#include <zarrpoint/checkpoint/options.hpp>
#include <zarrpoint/checkpoint/save/write_metadata.hpp>
#include <zarrpoint/checkpoint/verify/seal.hpp>
#include <zarrpoint/checkpoint/verify/stored_documents.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/prefix_store.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

namespace detail {

class checkpoint_sealer {
 public:
  checkpoint_sealer(const any_store& store, const context& how) : store_(store), how_(how) {}

  result<seal_report> run() {
    ZARRPOINT_TRY(contents, read_contents(store_, how_));
    if (!contents.is_ours())
      return error{errc::unsupported, "only a checkpoint that zarrpoint saved can be sealed"};
    ZARRPOINT_TRY(found, check_documents(store_, contents, how_));
    seal_report report{.id = contents.id, .accepted{}};
    std::set<std::string> accepted;
    for (document_finding& one : found) {
      // What could not be read is not accepted either.
      if (one.is_fault || one.what.code != errc::corrupt) return std::move(one.what).at(one.file);
      accepted.insert(std::move(one.node));
    }
    report.accepted.assign(accepted.begin(), accepted.end());
    report.is_written = !report.accepted.empty() || !contents.is_sealed;
    if (report.is_written) ZARRPOINT_CHECK(write(std::move(contents)));
    return report;
  }

 private:
  /// The attributes in the documents of a node; null for none.
  result<node> attributes_of(const std::string& of) const {
    ZARRPOINT_TRY(key, store_key::parse(of));
    ZARRPOINT_TRY(found, read_document(store_, key, is_v2_ ? ".zattrs" : "zarr.json", how_.limit));
    node attributes;
    if (found) attributes = is_v2_ ? *std::move(found) : take_member(*found, "attributes");
    const node::object* members = attributes.if_object();
    if (attributes.is_null() || (members != nullptr && members->empty())) return node();
    if (members == nullptr)
      return error{errc::corrupt, store_.describe(key) + ": its attributes are not an object"};
    return attributes;
  }

  result<bool> is_consolidated() const {
    ZARRPOINT_TRY(root, read_document(store_, store_key::root(),
                                      is_v2_ ? ".zmetadata" : "zarr.json", how_.limit));
    if (is_v2_ || !root) return root.has_value();
    const node* all = root->find("consolidated_metadata");
    return all != nullptr && all->if_object() != nullptr;
  }

  result<leaf_record> record_of(stored_leaf& leaf) const {
    ZARRPOINT_TRY(attributes, attributes_of(leaf.name));
    leaf_record out{std::move(leaf.name), std::move(leaf.typestr), leaf.document->content(),
                    std::move(leaf.objects), node()};
    if (is_v2_) {
      out.attributes = std::move(attributes);
    } else if (!attributes.is_null()) {
      out.metadata.set("attributes", std::move(attributes));
    } else if (node::object* members = out.metadata.if_object()) {
      std::erase_if(*members, [](const node::member& one) { return one.key == "attributes"; });
    }
    return out;
  }

  result<void> write(checkpoint_contents contents) {
    is_v2_ = contents.zarr_format == 2;
    commit_document commit{.id = std::move(contents.id), .leaves{}, .groups = contents.groups};
    for (stored_leaf& leaf : contents.leaves) {
      ZARRPOINT_TRY(record, record_of(leaf));
      commit.leaves.push_back(std::move(record));
    }
    std::vector<std::string_view> names;
    names.reserve(commit.leaves.size());
    for (const leaf_record& leaf : commit.leaves) names.emplace_back(leaf.name);
    ZARRPOINT_TRY(groups, groups_of(names, commit.groups));
    for (const std::string& group : groups) {
      ZARRPOINT_TRY(attributes, attributes_of(group));
      if (!attributes.is_null()) commit.group_attributes.push_back({group, std::move(attributes)});
    }
    save_options options;
    options.zarr_format = contents.zarr_format;
    options.attributes = std::move(contents.attributes);
    ZARRPOINT_TRY(consolidated, is_consolidated());
    options.consolidated_metadata = consolidated;
    return put_root_document(store_, {commit, groups, options, how_.limit.metadata_bytes})
        .transform([](bool) {});
  }

  const any_store& store_;
  const context& how_;
  bool is_v2_ = false;
};

}  // namespace detail

ZARRPOINT_INLINE result<seal_report> seal(const location& where, const context& how) {
  return guarded([&]() -> result<seal_report> {
           ZARRPOINT_TRY(place, detail::location_access::to_write(where, true, how.stores));
           const any_store store =
               place.key.is_root() ? place.store : any_store(prefix_store(place.store, place.key));
           return detail::checkpoint_sealer(store, how).run();
         })
      .at("seal " + where.name());
}

}}  // namespace zarrpoint::v0
