// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/array/base/context.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/handler/leaf.hpp>
#include <zarrpoint/memory/tensor.hpp>

#include <memory>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A leaf whose elements are a tensor, of the kind and the name that another has. The tensor stays
/// where it is until the leaf is gone.
struct leaf_copy {
  leaf_table table;
  host_view elements;

  static leaf make(const leaf& of, const tensor& elements);
};

/// Memory for copies of leaves, which is kept from one save to the next: where these have the same
/// leaves, the second takes no more.
class leaf_copies {
 public:
  /// Copies the elements that lie on the host, by all threads of the context, and has `leaves` name
  /// the copies. Of other spaces nothing changes. Errors: those of leaves, `resource_limit`.
  result<void> take(std::vector<leaf>& leaves, const context& how);

 private:
  std::vector<tensor> tensors_;
};

}}}  // namespace zarrpoint::v0::detail
