// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
// EXPECT(1): zarrpoint: the handler lacks `typestr`: see handlers/my_tensor_handler.hpp
// EXPECT(2): zarrpoint: the handler lacks `space`: see handlers/my_tensor_handler.hpp
// EXPECT(3): zarrpoint: the handler lacks spec(value): see handlers/my_tensor_handler.hpp
// EXPECT(4): zarrpoint: the handler lacks view(value): see handlers/my_tensor_handler.hpp
// EXPECT(5): zarrpoint: the handler lacks writable(target): see handlers/my_tensor_handler.hpp
// EXPECT(6): zarrpoint: the handler lacks make(spec, place): see handlers/my_tensor_handler.hpp
#include <zarrpoint/checkpoint.hpp>

namespace zp = zarrpoint;

struct scale {
  float value = 1;
  struct zarrpoint_handler {
#if ZP_CASE != 1
    static constexpr std::string_view typestr = "array";
#endif
#if ZP_CASE != 2
    using space = zp::host_space;
#endif
#if ZP_CASE != 3
    static zp::tensor_spec spec(const scale&) { return {zp::dtype_kind::float32, {}}; }
#endif
#if ZP_CASE != 4
    static zp::host_view view(const scale& of) {
      return zp::dense_view(reinterpret_cast<const std::byte*>(&of.value),
                            {zp::dtype_kind::float32, {}});
    }
#endif
#if ZP_CASE != 5
    static zp::mutable_host_view writable(scale& of) {
      return zp::dense_view(reinterpret_cast<std::byte*>(&of.value), {zp::dtype_kind::float32, {}});
    }
#endif
#if ZP_CASE != 6
    static zp::result<scale> make(const zp::tensor_spec&, const zp::place<zp::host_space>&) {
      return scale();
    }
#endif
  };
};

#if ZP_CASE < 5
zp::leaf test(const scale& of) { return zp::leaf("s", of); }
#endif
#if ZP_CASE == 0 || ZP_CASE >= 5
bool test(const zp::checkpoint& from) { return from.load<scale>("s").has_value(); }
#endif
