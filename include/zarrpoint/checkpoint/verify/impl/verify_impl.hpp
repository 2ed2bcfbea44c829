// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/array.hpp>
#include <zarrpoint/checkpoint/verify/consolidated_documents.hpp>
#include <zarrpoint/checkpoint/verify/stored_documents.hpp>
#include <zarrpoint/checkpoint/verify/verify.hpp>
#include <zarrpoint/checkpoint/verify/verify_leaf.hpp>
#include <zarrpoint/exec/guarded.hpp>
#include <zarrpoint/store/base/any_store.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zarrpoint { inline namespace v0 {

ZARRPOINT_INLINE std::string_view to_string(verdict of) noexcept {
  switch (of) {
    case verdict::ok: return "ok";
    case verdict::not_verified: return "not verified";
    case verdict::faulty: break;
  }
  return "faulty";
}

ZARRPOINT_INLINE verdict verify_report::result() const noexcept {
  verdict worst = documents;
  std::uint64_t chunks = 0;
  for (const leaf_verification& leaf : leaves) {
    worst = std::max(worst, leaf.result);
    chunks += leaf.chunks;
  }
  return chunks == 0 ? std::max(worst, verdict::not_verified) : worst;
}

namespace detail {

/// Counts what differs from the commit and what does not, to tell damage of chunks from a root
/// document that is whole and not theirs.
struct difference_count {
  std::uint64_t leaves = 0, whole_leaves = 0, differing_leaves = 0;

  void add(const leaf_verification& leaf, std::uint64_t differing) noexcept {
    ++leaves;
    if (leaf.result == verdict::ok) ++whole_leaves;
    // Of a damaged leaf most chunks are those of the commit.
    if (differing > leaf.chunks) ++differing_leaves;
  }
  bool most() const noexcept { return differing_leaves > 1 && 4 * differing_leaves > 3 * leaves; }
  error what() const {
    return {errc::corrupt, std::to_string(differing_leaves) +
                               " leaves have other chunks than it names, " +
                               std::to_string(whole_leaves) +
                               " have those: it may be the document of another checkpoint"};
  }
};

/// Whether anything is gone or is not what it was: what this build cannot read is neither.
ZARRPOINT_INLINE bool is_damage(const verify_report& report) {
  return report.result() == verdict::faulty ||
         std::any_of(report.failures.begin(), report.failures.end(), [](const auto& one) {
           return one.what.code == errc::not_found || one.what.code == errc::io;
         });
}

/// What stands first in an error that ends all: the first failure, and how many there are.
ZARRPOINT_INLINE error first_of(const verify_report& report) {
  if (report.failures.empty())
    return {errc::corrupt, std::to_string(report.failure_count) + " failures"};
  const verify_failure& first = report.failures.front();
  error out = first.what;
  out.code = errc::corrupt;
  if (!out.message.starts_with("array ")) out.at(first.file);
  if (report.failure_count > 1)
    out.message += " (and " + std::to_string(report.failure_count - 1) + " more failures)";
  return out;
}

/// What is wrong with the documents that other programs read.
ZARRPOINT_INLINE result<std::vector<document_finding>> find_in_documents(
    const checkpoint& of, const checkpoint_contents& contents) {
  const any_store& store = checkpoint_access::store(of);
  if (contents.is_ours()) return check_documents(store, contents, of.how());
  ZARRPOINT_TRY(found, check_consolidated(store, contents, of.how()));
  for (const stored_leaf& leaf : found.missing) {
    const auto key = store_key::parse(leaf.name);
    found.findings.push_back(
        {leaf.name, key ? store.describe(*key) : leaf.name, true, no_own_document()});
  }
  return std::move(found.findings);
}

}  // namespace detail

ZARRPOINT_INLINE result<verify_report> verify(const checkpoint& of, const verify_options& options) {
  return guarded([&]() -> result<verify_report> {
    verify_report out;
    const detail::checkpoint_contents& contents = detail::checkpoint_access::contents(of);
    detail::difference_count count;
    ZARRPOINT_TRY(found, detail::find_in_documents(of, contents).at("verify"));
    for (detail::document_finding& one : found) {
      out.documents =
          std::max(out.documents, one.is_fault ? verdict::faulty : verdict::not_verified);
      if (++out.failure_count > options.max_failures) continue;
      out.failures.push_back(
          {std::move(one.node), std::move(one.file), {}, {}, one.is_fault, std::move(one.what)});
    }
    for (std::string& name : of.names()) {
      ZARRPOINT_CHECK(detail::not_stopped(of.how()).at("verify"));
      leaf_verification leaf{.name = std::move(name)};
      const result<array> source = detail::checkpoint_access::as_plain_array(of, leaf.name);
      if (source) {
        ZARRPOINT_TRY(differing, detail::verify_leaf(*source, leaf, out, options).at("verify"));
        count.add(leaf, differing);
      } else {
        const bool is_fault = source.failure().code == errc::corrupt;
        leaf.result = is_fault ? verdict::faulty : verdict::not_verified;
        if (++out.failure_count <= options.max_failures)
          out.failures.push_back({leaf.name, leaf.name, {}, {}, is_fault, source.failure()});
      }
      out.leaves.push_back(std::move(leaf));
    }
    // Asked once, and last: whatever was found, it may be because a save was at work.
    if (detail::is_damage(out)) {
      error failure = detail::checkpoint_access::explain(of, detail::first_of(out));
      if (failure.code == errc::replaced) return std::move(failure).at("verify");
    }
    if (count.most()) {
      out.documents = verdict::faulty;
      const auto root = store_key::parse(contents.zarr_format == 2 ? ".zattrs" : "zarr.json");
      if (++out.failure_count <= options.max_failures)
        out.failures.push_back(
            {{}, detail::checkpoint_access::store(of).describe(*root), {}, {}, true, count.what()});
    }
    return out;
  });
}

}}  // namespace zarrpoint::v0
