// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of stores.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/store/base/impl/any_store_impl.hpp>
#include <zarrpoint/store/base/impl/blob_impl.hpp>
#include <zarrpoint/store/base/impl/key_impl.hpp>
#include <zarrpoint/store/base/impl/owned_paths_impl.hpp>
#include <zarrpoint/store/base/impl/range_blob_impl.hpp>
#include <zarrpoint/store/base/impl/url_impl.hpp>
#include <zarrpoint/store/base/impl/write_threads_impl.hpp>
#include <zarrpoint/store/file/impl/direct_writes_impl.hpp>
#include <zarrpoint/store/file/impl/directory_impl.hpp>
#include <zarrpoint/store/file/impl/extended_file_impl.hpp>
#include <zarrpoint/store/file/impl/file_blob_impl.hpp>
#include <zarrpoint/store/file/impl/file_root_impl.hpp>
#include <zarrpoint/store/file/impl/file_store_impl.hpp>
#include <zarrpoint/store/file/impl/file_writer_impl.hpp>
#include <zarrpoint/store/file/impl/keep_entries_impl.hpp>
#include <zarrpoint/store/file/impl/kept_directories_impl.hpp>
#include <zarrpoint/store/file/impl/path_watch_impl.hpp>
#include <zarrpoint/store/file/impl/posix_impl.hpp>
#include <zarrpoint/store/file/impl/publish_directory_impl.hpp>
#include <zarrpoint/store/file/impl/remove_tree_impl.hpp>
#include <zarrpoint/store/file/impl/staging_blocks_impl.hpp>
#include <zarrpoint/store/impl/block_cache_impl.hpp>
#include <zarrpoint/store/impl/cache_store_impl.hpp>
#include <zarrpoint/store/impl/format_impl.hpp>
#include <zarrpoint/store/impl/memory_store_impl.hpp>
#include <zarrpoint/store/impl/place_impl.hpp>
#include <zarrpoint/store/impl/prefix_store_impl.hpp>
#include <zarrpoint/store/impl/read_only_store_impl.hpp>
#include <zarrpoint/store/impl/schemes_impl.hpp>
#include <zarrpoint/store/impl/table_impl.hpp>
#include <zarrpoint/store/zip/impl/zip_batch_impl.hpp>
#include <zarrpoint/store/zip/impl/zip_builder_impl.hpp>
#include <zarrpoint/store/zip/impl/zip_checksum_impl.hpp>
#include <zarrpoint/store/zip/impl/zip_directory_impl.hpp>
#include <zarrpoint/store/zip/impl/zip_file_impl.hpp>
#include <zarrpoint/store/zip/impl/zip_member_blob_impl.hpp>
#include <zarrpoint/store/zip/impl/zip_member_writer_impl.hpp>
#include <zarrpoint/store/zip/impl/zip_members_impl.hpp>
#include <zarrpoint/store/zip/impl/zip_records_impl.hpp>
#include <zarrpoint/store/zip/impl/zip_space_impl.hpp>
#include <zarrpoint/store/zip/impl/zip_store_impl.hpp>
#include <zarrpoint/store/zip/impl/zip_writer_impl.hpp>
