// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/array/context.hpp>
#include <zarrpoint/array/migrate.hpp>
#include <zarrpoint/array/options.hpp>
#include <zarrpoint/checkpoint/checkpoint.hpp>
#include <zarrpoint/checkpoint/default_context.hpp>
#include <zarrpoint/checkpoint/load_all.hpp>
#include <zarrpoint/checkpoint/load_into_all.hpp>
#include <zarrpoint/checkpoint/save.hpp>
#include <zarrpoint/codec/all_codecs.hpp>
#include <zarrpoint/codec/astype.hpp>
#include <zarrpoint/codec/base64_codec.hpp>
#include <zarrpoint/codec/bitround.hpp>
#include <zarrpoint/codec/blosc.hpp>
#include <zarrpoint/codec/blosc_zlib.hpp>
#include <zarrpoint/codec/bytes.hpp>
#include <zarrpoint/codec/bz2.hpp>
#include <zarrpoint/codec/cast_value.hpp>
#include <zarrpoint/codec/categorize.hpp>
#include <zarrpoint/codec/checksum_codecs.hpp>
#include <zarrpoint/codec/concepts.hpp>
#include <zarrpoint/codec/crc32c_codec.hpp>
#include <zarrpoint/codec/default_codecs.hpp>
#include <zarrpoint/codec/delta.hpp>
#include <zarrpoint/codec/fixed_scale_offset.hpp>
#include <zarrpoint/codec/gzip.hpp>
#include <zarrpoint/codec/json2.hpp>
#include <zarrpoint/codec/lz4_codec.hpp>
#include <zarrpoint/codec/lzma.hpp>
#include <zarrpoint/codec/msgpack2.hpp>
#include <zarrpoint/codec/numcodecs.hpp>
#include <zarrpoint/codec/numcodecs_packbits.hpp>
#include <zarrpoint/codec/packbits.hpp>
#include <zarrpoint/codec/quantize.hpp>
#include <zarrpoint/codec/registry.hpp>
#include <zarrpoint/codec/reshape.hpp>
#include <zarrpoint/codec/scale_offset.hpp>
#include <zarrpoint/codec/shuffle_codec.hpp>
#include <zarrpoint/codec/transpose.hpp>
#include <zarrpoint/codec/vlen_array.hpp>
#include <zarrpoint/codec/vlen_bytes.hpp>
#include <zarrpoint/codec/vlen_utf8.hpp>
#include <zarrpoint/codec/zstd.hpp>
#include <zarrpoint/core/complex.hpp>
#include <zarrpoint/core/float_types.hpp>
#include <zarrpoint/core/record.hpp>
#include <zarrpoint/core/small_complex.hpp>
#include <zarrpoint/core/small_int.hpp>
#include <zarrpoint/distributed/async_saves.hpp>
#include <zarrpoint/distributed/communicator.hpp>
#include <zarrpoint/distributed/dcp_view.hpp>
#include <zarrpoint/distributed/group_load.hpp>
#include <zarrpoint/distributed/group_save.hpp>
#include <zarrpoint/distributed/iterations.hpp>
#include <zarrpoint/distributed/narrow.hpp>
#include <zarrpoint/distributed/optimizer_state.hpp>
#include <zarrpoint/distributed/rank_mesh.hpp>
#include <zarrpoint/distributed/sharded.hpp>
#include <zarrpoint/distributed/split_factory.hpp>
#include <zarrpoint/distributed/state.hpp>
#include <zarrpoint/distributed/state_diff.hpp>
#include <zarrpoint/distributed/stored_metadata.hpp>
#include <zarrpoint/distributed/thread_communicator.hpp>
#include <zarrpoint/distributed/zarr_loader.hpp>
#include <zarrpoint/distributed/zarr_saver.hpp>
#include <zarrpoint/handler/blob.hpp>
#include <zarrpoint/handler/concepts.hpp>
#include <zarrpoint/handler/mdspan.hpp>
#include <zarrpoint/handler/type_handler.hpp>
#include <zarrpoint/handler/vector.hpp>
#include <zarrpoint/interop/dlpack.hpp>
#include <zarrpoint/interop/dlpack_export.hpp>
#include <zarrpoint/interop/megatron_directory.hpp>
#include <zarrpoint/interop/megatron_layout.hpp>
#include <zarrpoint/interop/megatron_strategies.hpp>
#include <zarrpoint/interop/pickle.hpp>
#include <zarrpoint/interop/pickle_writer.hpp>
#include <zarrpoint/interop/safetensors.hpp>
#include <zarrpoint/interop/torch_file.hpp>
#include <zarrpoint/interop/torch_writer.hpp>
#include <zarrpoint/store/any_store.hpp>
#include <zarrpoint/store/concepts.hpp>
#include <zarrpoint/store/file_store.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/store/zip_store.hpp>

#include <doctest/doctest.h>

#include <vector>

// The paths of before the doors, as programs still include them.
TEST_CASE("old paths: lead to what they led to") {
  namespace zp = zarrpoint;
  zp::memory_store store;
  REQUIRE(zp::save(store, {{"w", std::vector<float>{1, 2}}}));
  CHECK(zp::open(store).value().load<std::vector<float>>("w").value() == std::vector<float>{1, 2});
}
