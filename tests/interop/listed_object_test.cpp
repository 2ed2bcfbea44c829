// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include <zarrpoint/interop/megatron/megatron_directory.hpp>
#include <zarrpoint/interop/pickle/pickle.hpp>
#include <zarrpoint/interop/torch/torch_document.hpp>
#include <zarrpoint/interop/torch/torch_file.hpp>
#include <zarrpoint/interop/torch/torch_writer.hpp>
#include <zarrpoint/memory/tensor.hpp>
#include <zarrpoint/store/base/blob.hpp>
#include <zarrpoint/store/memory_store.hpp>
#include <zarrpoint/store/zip/zip_store.hpp>
#include <zarrpoint/store/zip/zip_writer.hpp>

#include "support/random_rounds.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace listed_object_test {

using namespace zarrpoint;
using megatron::detail::list_object;
using megatron::detail::unlist_object;

std::unique_ptr<blob> blob_of(std::string_view text) {
  const bytes_view bytes = as_bytes(text);
  return std::make_unique<detail::memory_blob>(std::vector<std::byte>(bytes.begin(), bytes.end()),
                                               "item");
}

std::string text_of(const message& bytes) { return std::string(as_text(bytes)); }

/// An archive with that pickle, and one storage.
std::string archive_of(std::string_view pickle, std::string_view storage = {}) {
  const memory_store store;
  const store_key key = store_key::parse("o").value();
  const zip_writer archive = zip_writer::begin(store, key).value();
  const auto put = [&](std::string_view name, std::string_view text) {
    archive.put(store_key::parse("shard_0_1/" + std::string(name)).value(), as_bytes(text)).value();
  };
  put("data.pkl", pickle);
  put("byteorder", "little");
  if (!storage.empty()) put("data/0", storage);
  put(".data/serialization_id", "123");
  put("version", "3\n");
  archive.finish().value();
  return text_of(*get(store, key, SIZE_MAX).value());
}

std::string saved(const torch::value& value) {
  const memory_store store;
  const store_key key = store_key::parse("o").value();
  torch::save(store, key, value, "shard_0_1").value();
  return text_of(*get(store, key, SIZE_MAX).value());
}

json document_of(std::string_view file) {
  return torch::to_document(torch::open(blob_of(file)).value()).value();
}

template <class T>
bool refuses(const result<T>& done, errc code, std::string_view text) {
  if (done) return false;
  CAPTURE(done.failure().message);
  CHECK(done.failure().code == code);
  return done.failure().message.find(text) != std::string::npos;
}

TEST_CASE("listed_object: bytes are pickled in a list, and come back") {
  for (const std::string text : {"", "x", "PK", "some bytes\xff"}) {
    const std::string file = list_object(as_bytes(text), "o").value();
    const torch::file opened = torch::open(blob_of(file)).value();
    REQUIRE(opened.root().element_count() == 1);
    CHECK(as_text(torch::to_bytes(opened.root().element(0)).value()) == text);
    CHECK(text_of(unlist_object(blob_of(file)).value()) == text);
  }
}

/// An archive of others: numpy's.
std::string npz() {
  const memory_store store;
  const store_key key = store_key::parse("o").value();
  const zip_writer archive = zip_writer::begin(store, key).value();
  archive.put(store_key::parse("arr_0.npy").value(), as_bytes(std::string_view("elements")))
      .value();
  archive.finish().value();
  return text_of(*get(store, key, SIZE_MAX).value());
}

TEST_CASE("listed_object: an archive that is not torch.save's is bytes like others") {
  const std::string text = npz();
  CHECK_FALSE(megatron::detail::is_torch_file(as_bytes(text)).value());
  const std::string file = list_object(as_bytes(text), "o").value();
  CHECK(text_of(unlist_object(blob_of(file)).value()) == text);
  CHECK(refuses(megatron::detail::is_torch_file(as_bytes(std::string_view("PK\x03\x04"))),
                errc::corrupt, ""));
}

/// BINUNICODE.
std::string text_opcode(std::string_view latin) {
  std::string utf8;
  for (const char c : latin) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) utf8 += static_cast<char>(0xc0 | (byte >> 6));
    utf8 += byte < 0x80 ? c : static_cast<char>(0x80 | (byte & 0x3f));
  }
  std::string out = "X";
  for (int i = 0; i < 4; ++i) out += static_cast<char>((utf8.size() >> (8 * i)) & 0xff);
  return out + utf8;
}

/// What Python's pickle of protocol 2 says of `bytes`, a bytearray and an io.BytesIO.
std::string pickled_bytes(std::string_view bytes) {
  return "c_codecs\nencode\n" + text_opcode(bytes) + text_opcode("latin1") + "\x86R";
}
std::string pickled_array(std::string_view bytes) {
  return "c__builtin__\nbytearray\n" + pickled_bytes(bytes) + "\x85R";
}
std::string pickled_io(std::string_view bytes) {
  return "c_io\nBytesIO\n)\x81" + pickled_bytes(bytes) +
         std::string(
             "K\x00N\x87"
             "b",
             5);
}

TEST_CASE("listed_object: what is not plain bytes keeps its type, and so do bytes of a file") {
  const std::string file = saved(torch::value(json(json::object{{"step", 3}})));
  const std::string head("\x80\x02", 2);
  const auto listed = [&](const std::string& object) {
    return archive_of(head + "]q\x05" + object + "a.");
  };
  // Plain bytes are handed over as they are.
  for (const std::string& text : {std::string("x"), std::string("\x00PK\x94\xff", 5), npz()})
    CHECK(text_of(unlist_object(blob_of(listed(pickled_bytes(text)))).value()) == text);
  CHECK(text_of(unlist_object(blob_of(listed("c__builtin__\nbytes\n)R"))).value()).empty());
  const std::string kept[] = {
      pickled_io(file),    pickled_io("x"),
      pickled_io(""),      pickled_array(file),
      pickled_array("x"),  "c__builtin__\nbytearray\n)R",
      pickled_bytes(file), pickled_bytes("PK\x03\x04 and no more"),
  };
  for (const std::string& object : kept) {
    CAPTURE(object);
    const std::string alone = text_of(unlist_object(blob_of(listed(object))).value());
    const auto pickle_in = [](const std::string& of) {
      const memory_store store;
      const store_key key = store_key::parse("o").value();
      store.put(key, as_bytes(of)).value();
      const auto members = zip_store::open(store.open(key).value()).value();
      const store_key at =
          torch::file::find_prefix(members).value().value().child("data.pkl").value();
      return text_of(*get(members, at, SIZE_MAX).value());
    };
    CHECK(pickle_in(alone) == head + object + ".");
    CHECK(pickle_in(list_object(as_bytes(alone), "o").value()) == head + "]" + object + "a.");
  }
}

TEST_CASE("listed_object: a file of torch.save becomes one of a list, with its tensors") {
  tensor w = tensor::make({dtype_kind::float32, {2, 3}}).value();
  for (std::size_t i = 0; i < 6; ++i) w.data<float>()[i] = static_cast<float>(i);
  const torch::value values[] = {
      torch::value(json(7)),
      torch::value(json(json::array{1, 2})),
      torch::value(json(json::array{json(json::array{"a"})})),  // a list of one element
      torch::value(json(json::object{{"step", 3}, {"none", json()}})),
      torch::value(torch::value::dict{{"w", torch::value(w.view())}, {"n", torch::value(json(1))}}),
      torch::value(w.view()),
  };
  for (const torch::value& value : values) {
    const std::string file = saved(value);
    const std::string listed = list_object(as_bytes(file), "o").value();
    const json whole = document_of(listed);
    REQUIRE(whole.if_array() != nullptr);
    REQUIRE(whole.if_array()->size() == 1);
    CHECK(whole.if_array()->front() == document_of(file));
    const std::string alone = text_of(unlist_object(blob_of(listed)).value());
    CHECK(document_of(alone) == document_of(file));
    // Once in the folder of that name nothing changes any more.
    CHECK(list_object(as_bytes(alone), "o").value() == listed);
  }
  // What torch.save writes of a list itself, whose places in the memo begin with that.
  const std::string theirs =
      archive_of(std::string("\x80\x02]q\x00X\x01\x00\x00\x00xq\x01"
                             "a.",
                             15));
  CHECK(document_of(text_of(unlist_object(blob_of(theirs)).value())) == json("x"));
  const std::string far =
      archive_of(std::string("\x80\x02]r\x00\x00\x01\x00K\x07"
                             "a.",
                             12));
  CHECK(document_of(text_of(unlist_object(blob_of(far)).value())) == json(7));
}

TEST_CASE("listed_object: frames of protocol 4 end before the opcodes that are added") {
  // FRAME of 5 bytes: SHORT_BINUNICODE "x", MEMOIZE, STOP.
  const std::string file =
      archive_of(std::string("\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00\x8c\x01x\x94.", 16));
  const std::string listed = list_object(as_bytes(file), "o").value();
  CHECK(document_of(listed) == json(json::array{"x"}));
}

TEST_CASE("listed_object: anything but a file, or the list of one object, is refused") {
  CHECK(refuses(list_object(as_bytes(std::string_view("PK\x03\x04 and no more")), "o/shard_0_1"),
                errc::corrupt, "\"o/shard_0_1\""));
  CHECK(refuses(list_object(as_bytes(archive_of("no pickle")), "o/shard_0_1"), errc::unsupported,
                "\"o/shard_0_1\""));
  CHECK(refuses(list_object(as_bytes(archive_of("\x80\x02N")), "o"), errc::corrupt, "\"o\""));
  CHECK(refuses(unlist_object(blob_of("no file")), errc::corrupt, "item"));
  const std::string_view no_lists[] = {
      "\x80\x02K\x01.",  // a number
      "\x80\x02].",      // no object
      "\x80\x02](K\x01K\x02"
      "e.",  // two
      "\x80\x02](K\x01"
      "e.",  // one, as no pickle says it
      "\x80\x04]K\x01"
      "a.",  // by a protocol that counts the memo
      "\x80\x02K\x05"
      "0]K\x01"
      "a.",  // not a list from the start
  };
  for (const std::string_view pickle : no_lists) {
    CAPTURE(pickle);
    CHECK(refuses(unlist_object(blob_of(archive_of(pickle))), errc::corrupt, "item"));
  }
  // Places in the memo that are counted would be others without that of the list.
  const std::string counts(
      "\x80\x02]q\x00X\x01\x00\x00\x00x\x94X\x01\x00\x00\x00y\x94h\x01\x87"
      "a.",
      24);
  CHECK(refuses(unlist_object(blob_of(archive_of(counts))), errc::unsupported, "opcode 148"));
  // It holds itself: without the list there is no such place in the memo.
  const std::string itself(
      "\x80\x02]q\x00h\x00"
      "a.",
      9);
  CHECK_FALSE(unlist_object(blob_of(archive_of(itself))));
  // Folders within folders are nothing that torch.save writes.
  const memory_store store;
  const store_key key = store_key::parse("o").value();
  const zip_writer deep = zip_writer::begin(store, key).value();
  for (const char* name : {"a/data.pkl", "a/b/c/d/e"})
    deep.put(store_key::parse(name).value(), as_bytes(std::string_view("\x80\x02N."))).value();
  deep.finish().value();
  CHECK(refuses(list_object(*get(store, key, SIZE_MAX).value(), "o"), errc::corrupt, "too deep"));
}

TEST_CASE("listed_object: a damaged file is an error, or an object that opens") {
  tensor w = tensor::make({dtype_kind::float32, {3}}).value();
  const std::string file = saved(torch::value(torch::value::dict{
      {"w", torch::value(w.view())}, {"l", torch::value(json(json::array{1, "two", 3.5}))}}));
  const std::string listed = list_object(as_bytes(file), "o").value();
  std::size_t opens = 0;
  const auto check = [&](const std::string& damaged) {
    const auto out = unlist_object(blob_of(damaged));
    if (!out) return;
    ++opens;
    if (megatron::detail::is_torch_file(*out).value()) CHECK(torch::open(blob_of(text_of(*out))));
  };
  for (std::size_t i = 0; i < listed.size(); i += zarrpoint_test::is_thinned ? 3 : 1) {
    for (const char bits : {'\x01', '\x80', '\xff'}) {
      std::string damaged = listed;
      damaged[i] = static_cast<char>(damaged[i] ^ bits);
      check(damaged);
    }
    CHECK_FALSE(unlist_object(blob_of(listed.substr(0, i))));
  }
  CHECK(opens > 0);  // what pads the members means nothing
}

}  // namespace listed_object_test
