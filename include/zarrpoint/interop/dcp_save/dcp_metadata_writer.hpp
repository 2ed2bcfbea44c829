// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/dcp/dcp_metadata.hpp>

#include <cstdint>
#include <string>

namespace zarrpoint { inline namespace v0 { namespace dcp {

/// Whose `.metadata` it is.
enum class metadata_style : std::uint8_t {
  torch,       ///< torch.distributed.checkpoint's
  torch_dist,  ///< Megatron-Core's: without paths, with the shape of what was flattened
};

/// The bytes of `.metadata`: a pickle of protocol 2, which PyTorch reads from 2.3 on (2.2 and
/// before lack the classes), and `read_metadata`. The same metadata make the same bytes. Boxes may
/// be empty, as PyTorch has them for tensors without elements. Errors: `invalid_argument` for a
/// name that is not UTF-8; `unsupported` for a dtype that PyTorch has not, for raw items, and in
/// the style of torch for what Megatron-Core flattened.
result<std::string> write_metadata(const metadata& from,
                                   metadata_style style = metadata_style::torch);

}}}  // namespace zarrpoint::v0::dcp
