// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace zarrpoint { inline namespace v0 { namespace torch::detail {

/// The opcodes of the protocols 2 to 5 (Python's pickletools has their meaning).
enum class pickle_op : std::uint8_t {
  mark = '(',
  stop = '.',
  pop = '0',
  pop_mark = '1',
  dup = '2',
  binfloat = 'G',
  binint = 'J',
  binint1 = 'K',
  binint2 = 'M',
  none = 'N',
  binpersid = 'Q',
  reduce = 'R',
  binstring = 'T',
  short_binstring = 'U',
  binunicode = 'X',
  binbytes = 'B',
  short_binbytes = 'C',
  append = 'a',
  build = 'b',
  global = 'c',
  dict = 'd',
  appends = 'e',
  get = 'h',
  inst = 'i',
  long_get = 'j',
  list = 'l',
  obj = 'o',
  put = 'q',
  long_put = 'r',
  setitem = 's',
  tuple = 't',
  setitems = 'u',
  empty_list = ']',
  empty_tuple = ')',
  empty_dict = '}',
  proto = 0x80,
  newobj = 0x81,
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  newtrue = 0x88,
  newfalse = 0x89,
  long1 = 0x8a,
  long4 = 0x8b,
  short_binunicode = 0x8c,
  binunicode8 = 0x8d,
  binbytes8 = 0x8e,
  empty_set = 0x8f,
  additems = 0x90,
  frozenset = 0x91,
  newobj_ex = 0x92,
  stack_global = 0x93,
  memoize = 0x94,
  frame = 0x95,
  bytearray8 = 0x96,
};

}}}  // namespace zarrpoint::v0::torch::detail
