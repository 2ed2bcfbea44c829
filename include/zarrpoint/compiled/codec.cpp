// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of the codecs.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/codec/any_codec_impl.hpp>
#include <zarrpoint/codec/astype_impl.hpp>
#include <zarrpoint/codec/base64_codec_impl.hpp>
#include <zarrpoint/codec/bitround_impl.hpp>
#include <zarrpoint/codec/blosc_encode_impl.hpp>
#include <zarrpoint/codec/blosc_frame_impl.hpp>
#include <zarrpoint/codec/blosc_impl.hpp>
#include <zarrpoint/codec/blosc_plane_impl.hpp>
#include <zarrpoint/codec/blosclz_impl.hpp>
#include <zarrpoint/codec/bytes_impl.hpp>
#include <zarrpoint/codec/cast_value_impl.hpp>
#include <zarrpoint/codec/categorize_impl.hpp>
#include <zarrpoint/codec/chain_impl.hpp>
#include <zarrpoint/codec/checksum_codecs_impl.hpp>
#include <zarrpoint/codec/checksums_impl.hpp>
#include <zarrpoint/codec/configuration_impl.hpp>
#include <zarrpoint/codec/crc32c_codec_impl.hpp>
#include <zarrpoint/codec/crc32c_impl.hpp>
#include <zarrpoint/codec/crc32c_table_impl.hpp>
#include <zarrpoint/codec/delta_impl.hpp>
#include <zarrpoint/codec/filter_impl.hpp>
#include <zarrpoint/codec/fixed_scale_offset_impl.hpp>
#include <zarrpoint/codec/huffman_decode_impl.hpp>
#include <zarrpoint/codec/huffman_weights_impl.hpp>
#include <zarrpoint/codec/json2_impl.hpp>
#include <zarrpoint/codec/known_codecs_impl.hpp>
#include <zarrpoint/codec/library_memory_impl.hpp>
#include <zarrpoint/codec/lz4_block_impl.hpp>
#include <zarrpoint/codec/lz4_codec_impl.hpp>
#include <zarrpoint/codec/lz_cursor_impl.hpp>
#include <zarrpoint/codec/msgpack2_impl.hpp>
#include <zarrpoint/codec/numcodecs_packbits_impl.hpp>
#include <zarrpoint/codec/numpy_cast_impl.hpp>
#include <zarrpoint/codec/packbits_impl.hpp>
#include <zarrpoint/codec/quantize_impl.hpp>
#include <zarrpoint/codec/real_cast_impl.hpp>
#include <zarrpoint/codec/real_number_impl.hpp>
#include <zarrpoint/codec/reshape_impl.hpp>
#include <zarrpoint/codec/scale_offset_impl.hpp>
#include <zarrpoint/codec/shuffle_codec_impl.hpp>
#include <zarrpoint/codec/snappy_impl.hpp>
#include <zarrpoint/codec/table_impl.hpp>
#include <zarrpoint/codec/transpose_impl.hpp>
#include <zarrpoint/codec/vlen_array_impl.hpp>
#include <zarrpoint/codec/vlen_utf8_impl.hpp>
#include <zarrpoint/codec/workspace_impl.hpp>
#include <zarrpoint/codec/zstd_impl.hpp>
#include <zarrpoint/codec/zstd_literals_impl.hpp>
