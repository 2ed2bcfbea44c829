// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// driver: does what each line of its input says, a JSON object, and answers with a line.
//
//   {"do": "create", "path": P, "metadata": M}     M: a document of v3, or a .zarray
//   {"do": "open", "path": P}                      says the dtype and shape
//   {"do": "write", "path": P, "at": S, "data": D}
//   {"do": "read", "path": P, "at": S}             says the data
//
// P is a folder. S is [offsets, counts, steps], or absent for the whole array. D is base64 of
// row-major, little-endian elements; for elements of variable length a list of base64, one each.
// Every answer is {"ok": true, ...} or {"ok": false, "code": "corrupt", "message": "..."}.

#include <zarrpoint/all_codecs.hpp>
#include <zarrpoint/array.hpp>
#include <zarrpoint/array/array.hpp>
#include <zarrpoint/codec/lists/all_codecs.hpp>
#include <zarrpoint/core/base64.hpp>
#include <zarrpoint/store/file/file_store.hpp>
#include <zarrpoint/zarr/json/json.hpp>
#include <zarrpoint/zarr/json/json_writer.hpp>
#include <zarrpoint/zarr/metadata_v3.hpp>
#include <zarrpoint/zarr/v2/metadata_v2.hpp>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <utility>

namespace zp = zarrpoint;

namespace {

zp::context with_all_codecs() {
  zp::context how;
  how.codecs = zp::all_codecs::table();
  return how;
}

zp::error misuse(const std::string& what) { return {zp::errc::invalid_argument, "job: " + what}; }

zp::result<std::string> text_of(const zp::json& job, std::string_view member) {
  const zp::json* found = job.find(member);
  if (found == nullptr || found->if_string() == nullptr) return misuse("no " + std::string(member));
  return *found->if_string();
}

zp::result<zp::dims> dims_of(const zp::json& list) {
  if (list.if_array() == nullptr) return misuse("a list is missing");
  zp::dims out;
  for (const zp::json& one : *list.if_array()) {
    const auto value = one.to_int64();
    if (!value) return misuse("not an integer");
    out.push_back(*value);
  }
  return out;
}

zp::result<zp::selection> selection_of(const zp::json& job, const zp::dims& shape) {
  const zp::json* at = job.find("at");
  if (at == nullptr) return zp::selection(zp::box::whole(shape));
  const zp::json::array* parts = at->if_array();
  if (parts == nullptr || parts->size() != 3) return misuse("at");
  ZARRPOINT_TRY(offset, dims_of((*parts)[0]));
  ZARRPOINT_TRY(count, dims_of((*parts)[1]));
  ZARRPOINT_TRY(step, dims_of((*parts)[2]));
  return zp::selection(offset, count, step);
}

zp::json data_of(const zp::tensor& of) {
  if (!of.type().is_variable()) {
    const auto* first = static_cast<const std::byte*>(of.view().data);
    return zp::detail::to_base64(zp::bytes_view(first, of.size() * of.type().size()));
  }
  zp::json::array out;
  for (const std::string& one : of.data<std::string>())
    out.emplace_back(zp::detail::to_base64(zp::as_bytes(one)));
  return out;
}

zp::result<void> fill(zp::tensor& to, const zp::json* data) {
  if (data == nullptr) return misuse("no data");
  if (!to.type().is_variable()) {
    if (data->if_string() == nullptr) return misuse("data");
    const std::string& text = *data->if_string();
    const auto bytes = zp::detail::from_base64(text);
    if (!bytes || bytes->size() != to.size() * to.type().size()) return misuse("size of the data");
    if (!bytes->empty()) std::memcpy(to.mutable_view().data, bytes->data(), bytes->size());
    return {};
  }
  const zp::json::array* list = data->if_array();
  const auto elements = to.data<std::string>();
  if (list == nullptr || list->size() != elements.size()) return misuse("size of the data");
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const std::string* text = (*list)[i].if_string();
    const auto bytes = text == nullptr ? std::nullopt : zp::detail::from_base64(*text);
    if (!bytes) return misuse("data");
    elements[i] = *bytes;
  }
  return {};
}

zp::result<zp::array> open(const zp::json& job) {
  ZARRPOINT_TRY(path, text_of(job, "path"));
  ZARRPOINT_TRY(store, zp::file_store::open(path));
  return zp::array::open(store, zp::store_key::root(), with_all_codecs());
}

zp::result<zp::array> create(const zp::json& job) {
  ZARRPOINT_TRY(path, text_of(job, "path"));
  const zp::json* document = job.find("metadata");
  const zp::json* format = document == nullptr ? nullptr : document->find("zarr_format");
  if (format == nullptr) return misuse("no metadata");
  ZARRPOINT_TRY(metadata, format->to_int64() == 2 ? zp::parse_array_v2(*document)
                                                  : zp::parse_array_v3(*document));
  std::filesystem::create_directories(path);
  ZARRPOINT_TRY(store, zp::file_store::open(path));
  return zp::array::create(store, zp::store_key::root(), std::move(metadata), with_all_codecs());
}

zp::result<zp::json> described(const zp::array& of) {
  zp::json::array shape;
  for (const zp::index_t extent : of.spec().shape) shape.emplace_back(extent);
  return zp::json(zp::json::object{{"dtype", zp::json(to_string(of.spec().type))},
                                   {"shape", zp::json(std::move(shape))}});
}

zp::result<zp::json> answer(const zp::json& job) {
  ZARRPOINT_TRY(action, text_of(job, "do"));
  if (action == "create") {
    ZARRPOINT_TRY(made, create(job));
    return described(made);
  }
  ZARRPOINT_TRY(opened, open(job));
  if (action == "open") return described(opened);
  ZARRPOINT_TRY(part, selection_of(job, opened.spec().shape));
  if (action == "write") {
    ZARRPOINT_TRY(values, zp::tensor::make({opened.spec().type, part.shape}));
    ZARRPOINT_CHECK(fill(values, job.find("data")));
    ZARRPOINT_CHECK(opened.write(part, values.view()));
    return zp::json(zp::json::object{});
  }
  if (action != "read") return misuse("unknown action " + action);
  ZARRPOINT_TRY(values, opened.read(part));
  return zp::json(zp::json::object{{"data", data_of(values)}});
}

zp::json line_of(const std::string& text) {
  const auto job = zp::parse_json(zp::as_bytes(text));
  const zp::result<zp::json> said = job ? answer(*job) : zp::result<zp::json>(job.failure());
  zp::json out = said ? *said : zp::json(zp::json::object{});
  out.set("ok", said.has_value());
  if (!said) {
    out.set("code", zp::json(to_string(said.failure().code)));
    out.set("message", said.failure().message);
  }
  return out;
}

}  // namespace

int main() {
  try {
    std::ios::sync_with_stdio(false);
    for (std::string line; std::getline(std::cin, line);)
      std::cout << zp::dump_json(line_of(line), zp::json_style::compact) << std::endl;
    return 0;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "driver: %s\n", failure.what());
    return 1;
  }
}
