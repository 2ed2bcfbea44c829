// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// One unit of the compiled form: the bodies of codecs.

#define ZARRPOINT_LIBRARY_UNIT

#include <zarrpoint/codec/array_to_array/impl/bitround_impl.hpp>
#include <zarrpoint/codec/array_to_array/impl/cast_value_impl.hpp>
#include <zarrpoint/codec/array_to_array/impl/reshape_impl.hpp>
#include <zarrpoint/codec/array_to_array/impl/scale_offset_impl.hpp>
#include <zarrpoint/codec/array_to_array/impl/transpose_impl.hpp>
#include <zarrpoint/codec/array_to_bytes/impl/bytes_impl.hpp>
#include <zarrpoint/codec/array_to_bytes/impl/packbits_impl.hpp>
#include <zarrpoint/codec/array_to_bytes/impl/vlen_utf8_impl.hpp>
#include <zarrpoint/codec/base/impl/any_codec_impl.hpp>
#include <zarrpoint/codec/base/impl/chain_impl.hpp>
#include <zarrpoint/codec/base/impl/configuration_impl.hpp>
#include <zarrpoint/codec/base/impl/known_codecs_impl.hpp>
#include <zarrpoint/codec/base/impl/scratch_tensor_impl.hpp>
#include <zarrpoint/codec/base/impl/spec_impl.hpp>
#include <zarrpoint/codec/base/impl/table_impl.hpp>
#include <zarrpoint/codec/base/impl/workspace_impl.hpp>
#include <zarrpoint/codec/blosc/impl/blosc_encode_impl.hpp>
#include <zarrpoint/codec/blosc/impl/blosc_frame_impl.hpp>
#include <zarrpoint/codec/blosc/impl/blosc_impl.hpp>
#include <zarrpoint/codec/blosc/impl/blosc_plane_impl.hpp>
#include <zarrpoint/codec/blosc/impl/huffman_code_impl.hpp>
#include <zarrpoint/codec/blosc/impl/huffman_decode_impl.hpp>
#include <zarrpoint/codec/blosc/impl/huffman_encode_impl.hpp>
#include <zarrpoint/codec/blosc/impl/huffman_sample_impl.hpp>
#include <zarrpoint/codec/blosc/impl/huffman_weights_impl.hpp>
#include <zarrpoint/codec/blosc/impl/zstd_literals_encode_impl.hpp>
#include <zarrpoint/codec/blosc/impl/zstd_literals_impl.hpp>
#include <zarrpoint/codec/bytes_to_bytes/impl/crc32c_codec_impl.hpp>
#include <zarrpoint/codec/bytes_to_bytes/impl/zstd_impl.hpp>
#include <zarrpoint/codec/kit/impl/blosclz_impl.hpp>
#include <zarrpoint/codec/kit/impl/checksums_impl.hpp>
#include <zarrpoint/codec/kit/impl/filter_impl.hpp>
#include <zarrpoint/codec/kit/impl/library_memory_impl.hpp>
#include <zarrpoint/codec/kit/impl/lz4_block_impl.hpp>
#include <zarrpoint/codec/kit/impl/lz_cursor_impl.hpp>
#include <zarrpoint/codec/kit/impl/numpy_cast_impl.hpp>
#include <zarrpoint/codec/kit/impl/real_cast_impl.hpp>
#include <zarrpoint/codec/kit/impl/real_number_impl.hpp>
#include <zarrpoint/codec/kit/impl/snappy_impl.hpp>
#include <zarrpoint/codec/lists/impl/default_codecs_impl.hpp>
#include <zarrpoint/codec/n5/impl/n5_codec_impl.hpp>
#include <zarrpoint/codec/numcodecs/impl/astype_impl.hpp>
#include <zarrpoint/codec/numcodecs/impl/base64_codec_impl.hpp>
#include <zarrpoint/codec/numcodecs/impl/categorize_impl.hpp>
#include <zarrpoint/codec/numcodecs/impl/checksum_codecs_impl.hpp>
#include <zarrpoint/codec/numcodecs/impl/delta_impl.hpp>
#include <zarrpoint/codec/numcodecs/impl/fixed_scale_offset_impl.hpp>
#include <zarrpoint/codec/numcodecs/impl/json2_impl.hpp>
#include <zarrpoint/codec/numcodecs/impl/lz4_codec_impl.hpp>
#include <zarrpoint/codec/numcodecs/impl/msgpack2_impl.hpp>
#include <zarrpoint/codec/numcodecs/impl/numcodecs_packbits_impl.hpp>
#include <zarrpoint/codec/numcodecs/impl/quantize_impl.hpp>
#include <zarrpoint/codec/numcodecs/impl/shuffle_codec_impl.hpp>
#include <zarrpoint/codec/numcodecs/impl/vlen_array_impl.hpp>
#include <zarrpoint/codec/pcodec/impl/pco_bits_impl.hpp>
#include <zarrpoint/codec/pcodec/impl/pco_decode_impl.hpp>
#include <zarrpoint/codec/pcodec/impl/pco_encode_impl.hpp>
#include <zarrpoint/codec/pcodec/impl/pcodec_impl.hpp>
