// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_store.hpp>
#include <zarrpoint/interop/ocdbt/ocdbt_writer.hpp>
#include <zarrpoint/store/base/any_store.hpp>
#include <zarrpoint/store/base/key.hpp>

#include <span>

namespace zarrpoint { inline namespace v0 {

/// Makes one database at `root` of those at `databases`, keys beneath `root`, as Orbax does of what
/// each process wrote: their keys and small values are copied, their data files are used where they
/// lie, by paths relative to `root`, and must stay there. Of equal keys, that of the later database
/// wins; what is at `root` already stays, unless one of them has the key. Errors: those of
/// `ocdbt_store::open` and `ocdbt_writer`; `invalid_argument` for a database that is not beneath
/// `root`.
result<ocdbt_version> ocdbt_merge(any_store base, store_key root,
                                  std::span<const store_key> databases,
                                  const ocdbt_write_options& how = {});

}}  // namespace zarrpoint::v0

#if ZARRPOINT_BODIES
#include <zarrpoint/interop/ocdbt/impl/ocdbt_merge_impl.hpp>
#endif
