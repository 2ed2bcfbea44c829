// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// A unit without exceptions and RTTI, with a codec and a type of its own.

#include <zarrpoint/zarrpoint.hpp>

#include <array>
#include <string_view>
#include <vector>

namespace zp = zarrpoint;

namespace {

/// A tensor of the program: a shape and elements.
struct grid {
  std::array<std::int64_t, 2> shape{};
  std::vector<double> elements;
};

/// Stores bytes with their bits inverted.
struct inverted_codec {
  static constexpr std::string_view name = "consumer.inverted";
  static constexpr bool fixed_size = true;
  static zp::result<inverted_codec> from_configuration(const zp::json&) { return inverted_codec(); }
  static zp::json configuration() { return zp::json::object{}; }
  static std::uint64_t encoded_bound(std::uint64_t decoded) { return decoded; }
  static zp::result<std::size_t> encode(zp::bytes_view from, zp::mutable_bytes to,
                                        zp::codec_workspace&) {
    for (std::size_t i = 0; i < from.size(); ++i) to[i] = ~from[i];
    return from.size();
  }
  static zp::result<std::size_t> decode(zp::bytes_view from, zp::mutable_bytes to,
                                        zp::codec_workspace& scratch) {
    return encode(from, to, scratch);
  }
};

}  // namespace

template <>
struct zarrpoint::type_handler<grid> {
  static constexpr std::string_view typestr = "array";
  using space = zp::host_space;
  static zp::result<zp::tensor_spec> spec(const grid& value) {
    return zp::tensor_spec{zp::dtype_of<double>, {value.shape[0], value.shape[1]}};
  }
  static zp::host_view view(const grid& value) {
    return zp::dense_view(reinterpret_cast<const std::byte*>(value.elements.data()),
                          spec(value).value());
  }
  static zp::result<grid> make(const zp::tensor_spec& spec, const zp::place<space>&) {
    grid out{{spec.shape[0], spec.shape[1]}, {}};
    out.elements.resize(static_cast<std::size_t>(spec.shape[0] * spec.shape[1]));
    return out;
  }
  static zp::mutable_host_view writable(grid& value) {
    return zp::dense_view(reinterpret_cast<std::byte*>(value.elements.data()), spec(value).value());
  }
};

zp::result<bool> own_types_work(const zp::location& where) {
  using codecs = zp::default_codecs::with<inverted_codec>;
  zp::context how = zp::default_context();
  how.codecs = codecs::table();
  const grid value{{2, 2}, {1, 2, 3, 4}};
  std::vector<zp::codec_spec> chain = zp::raw_codecs();
  chain.push_back({"consumer.inverted", {}});
  ZARRPOINT_CHECK(zp::save(where, {{"grid", value}}, {.rules = {{.codecs = chain}}}, how));
  ZARRPOINT_TRY(opened, zp::open(where, how));
  ZARRPOINT_TRY(back, opened.load<grid>("grid"));
  return back.elements == value.elements && back.shape == value.shape;
}
