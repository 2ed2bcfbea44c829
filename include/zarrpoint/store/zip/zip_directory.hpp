// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/config.hpp>
#include <zarrpoint/core/result.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/zip/zip_records.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace zarrpoint { inline namespace v0 { namespace detail {

error zip_corrupt(std::string what);

/// The members of an archive, in the order of its directory (PKWARE APPNOTE 6.3.10, sections 4.3
/// and 4.5.3); a name may be there more than once. Reads nothing but the end of the file. Errors:
/// `corrupt` (cut short, a directory or members outside the file, overlaps), `unsupported`
/// (encryption, several volumes), `resource_limit` when the directory has more than `max_bytes`.
result<std::vector<zip_member>> read_zip_directory(const blob& archive,
                                                   std::uint64_t max_bytes = std::uint64_t{1}
                                                                             << 30);

/// Where the bytes of a member begin. Its local header must say the same as the directory. Errors:
/// `corrupt`.
result<std::uint64_t> zip_data_offset(const blob& archive, const zip_member& member);

/// The same from the local header, whose extra fields may be missing where no size needs them.
result<std::uint64_t> zip_data_offset(bytes_view local_header, const zip_member& member);

/// The name as both headers have it.
const std::string& raw_zip_name(const zip_member& member);

}}}  // namespace zarrpoint::v0::detail

#if ZARRPOINT_BODIES
#include <zarrpoint/store/zip/impl/zip_directory_impl.hpp>
#endif
