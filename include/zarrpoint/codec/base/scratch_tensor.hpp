// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/codec/base/workspace.hpp>
#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/core/types/tensor_spec.hpp>
#include <zarrpoint/memory/tensor_view.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace zarrpoint { inline namespace v0 { namespace detail {

/// A dense tensor in the scratch memory of a workspace. Its strings, where it has strings, end with
/// it; of other types nothing is initialised.
class scratch_tensor {
 public:
  /// Errors: `out_of_range`, `resource_limit`.
  static result<scratch_tensor> make(const tensor_spec& spec, codec_workspace& scratch,
                                     std::size_t slot);

  scratch_tensor(scratch_tensor&& other) noexcept;
  scratch_tensor& operator=(scratch_tensor&&) = delete;
  ~scratch_tensor() { std::destroy_n(first(), strings_); }

  const mutable_host_view& view() const noexcept { return view_; }

 private:
  scratch_tensor() = default;
  std::string* first() const noexcept { return reinterpret_cast<std::string*>(view_.data); }

  mutable_host_view view_;
  std::size_t strings_ = 0;
};

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/codec/base/impl/scratch_tensor_impl.hpp>
#endif
