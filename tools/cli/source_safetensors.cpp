// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// A safetensors file, and the index that Hugging Face writes beside several.

#include <zarrpoint/core/printable.hpp>
#include <zarrpoint/interop/safetensors/safetensors.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include "files.hpp"
#include "looks.hpp"
#include "raw_elements.hpp"
#include "row_blocks.hpp"
#include "source.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace cli {

namespace {

constexpr std::size_t index_limit = std::size_t{256} << 20;

/// One file of tensors, its header checked.
struct shard {
  std::string path;
  zp::safetensors::file file;
  zp::mapping bytes;
  std::uint64_t data_offset = 0;
};

zp::result<shard> open_shard(const std::string& path) {
  ZARRPOINT_TRY(file, open_file(path));
  ZARRPOINT_TRY(mapped, bytes_of(file));
  if (auto found = stand_in(path, zp::as_text(mapped.bytes()))) return *std::move(found);
  ZARRPOINT_TRY(checked, zp::safetensors::open(path));
  shard out{path, std::move(checked), std::move(mapped), 0};
  // Between the two openings the file may have been replaced.
  std::uint64_t end = 0;
  for (const auto& tensor : out.file.tensors()) end = std::max(end, tensor.offset + tensor.bytes);
  const std::uint64_t size = out.bytes.bytes().size();
  const std::uint64_t length = size < 8 ? 0 : zp::load_le<std::uint64_t>(out.bytes.bytes().data());
  if (size < 8 || length > size - 8 || size - 8 - length != end)
    return zp::error{zp::errc::io, path + ": the file was changed while it was opened"};
  out.data_offset = 8 + length;
  return out;
}

class safetensors_source final : public source {
 public:
  struct tensor {
    std::size_t shard;
    const zp::safetensors::tensor_info* info;
  };

  safetensors_source(std::string path, std::vector<shard> shards)
      : path_(std::move(path)), shards_(std::move(shards)) {
    format_ = "safetensors";
  }

  void add(std::size_t in_shard, const zp::safetensors::tensor_info& info) {
    entry made;
    made.name = info.name;
    made.chunk_shape = info.spec.shape;
    if (info.spec.type.valid()) {
      made.spec = info.spec;
      made.type = to_string(info.spec.type);
    } else {
      made.type = info.stored_type;
      made.fault =
          zp::error{zp::errc::unsupported, "the dtype " + zp::detail::in_quotes(info.stored_type) +
                                               " is not known to this version"};
    }
    entries_.push_back(std::move(made));
    tensors_.push_back({in_shard, &info});
  }
  void add_all(std::size_t in_shard) {
    for (const auto& info : shards_[in_shard].file.tensors()) add(in_shard, info);
  }
  void take_metadata(const zp::safetensors::metadata_map& from) {
    for (const auto& [key, value] : from) attributes_.set(key, value);
  }
  /// Says that tensors of the files are not read, though they are there.
  void leave_out(std::vector<finding> tensors) {
    if (tensors.empty()) return;
    std::string text = "the weight_map leaves out " + std::to_string(tensors.size()) +
                       (tensors.size() == 1 ? " tensor" : " tensors") + " of its files:";
    for (std::size_t i = 0; i < tensors.size() && i < 8; ++i)
      text += (i == 0 ? " \"" : ", \"") + escaped(tensors[i].node) + "\" of " +
              escaped(file_name(tensors[i].file));
    if (tensors.size() > 8) text += " and " + std::to_string(tensors.size() - 8) + " more";
    warnings_.push_back(std::move(text));
    for (finding& each : tensors) notes_.push_back(std::move(each));
  }
  void finish(std::string format) {
    std::vector<std::size_t> order(entries_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return entries_[a].name < entries_[b].name; });
    std::vector<entry> entries;
    std::vector<tensor> tensors;
    for (const std::size_t i : order) {
      entries.push_back(std::move(entries_[i]));
      tensors.push_back(tensors_[i]);
    }
    entries_ = std::move(entries);
    tensors_ = std::move(tensors);
    format_ = std::move(format);
  }
  void add_fault(const std::string& path, std::string what) {
    notes_.push_back({path, {}, {}, {}, std::move(what)});
  }
  const shard& at(std::size_t in_shard) const { return shards_[in_shard]; }

  zp::result<void> read(std::size_t index, const zp::selection& part,
                        const zp::mutable_host_view& into) const override {
    return elements_at(index).read(part, into).at(context(index));
  }
  zp::result<std::optional<zp::host_view>> lend(std::size_t index) const override {
    return elements_at(index).lend().at(context(index));
  }
  zp::result<std::uint64_t> stored_bytes(std::size_t index) const override {
    return tensors_[index].info->bytes;
  }
  void verify(verification& to) const override {
    for (const finding& note : notes_) to.add(note);
    verify_by_reading(*this, path_, to);
  }

 private:
  std::string context(std::size_t index) const {
    return shards_[tensors_[index].shard].path + ": tensor \"" + escaped(entries_[index].name) +
           '"';
  }
  raw_elements elements_at(std::size_t index) const {
    const tensor& from = tensors_[index];
    const shard& in = shards_[from.shard];
    raw_elements out;
    out.data =
        in.bytes.bytes().subspan(static_cast<std::size_t>(in.data_offset + from.info->offset),
                                 static_cast<std::size_t>(from.info->bytes));
    out.spec = from.info->spec;
    out.packed = out.spec.type.is_below_byte();
    out.strides = zp::row_major_strides(out.spec.shape, out.spec.type.size());
    return out;
  }

  std::string path_;
  std::vector<shard> shards_;
  std::vector<tensor> tensors_;
  std::vector<finding> notes_;
};

/// What an index says: which tensor is in which file, and the bytes in all.
struct index_document {
  std::map<std::string, std::string> files;
  std::optional<std::uint64_t> total_size;
};

zp::result<index_document> parse_index(const zp::node& document) {
  const zp::node* map = document.find("weight_map");
  if (map == nullptr || map->if_object() == nullptr)
    return zp::error{zp::errc::unsupported,
                     "JSON without \"weight_map\": it is not an index of safetensors files"};
  index_document out;
  for (const auto& [name, file] : *map->if_object()) {
    const std::string* text = file.if_string();
    // A name in a file must not lead to files elsewhere.
    if (text == nullptr || text->empty() || text->find('/') != std::string::npos || *text == ".." ||
        *text == ".")
      return zp::error{zp::errc::corrupt,
                       "weight_map: tensor \"" + escaped(name) +
                           "\" names a file that is not in the directory of the index"};
    out.files.emplace(name, *text);
  }
  if (const zp::node* metadata = document.find("metadata")) {
    if (const zp::node* total = metadata->find("total_size")) out.total_size = total->to_uint64();
  }
  return out;
}

/// The tensors of the index, each from the file that it names.
zp::result<void> add_indexed(safetensors_source& to, const index_document& index,
                             const std::string& path,
                             const std::map<std::string, std::size_t>& shards) {
  std::uint64_t total = 0;
  std::set<std::string_view> found;
  std::vector<finding> left;
  for (const auto& [file, at] : shards) {
    for (const auto& info : to.at(at).file.tensors()) {
      const auto entry = index.files.find(info.name);
      if (entry == index.files.end() || entry->second != file) {
        const std::string why = entry == index.files.end()
                                    ? "not in the weight_map, so it is not read"
                                    : "the weight_map takes it from \"" + escaped(entry->second) +
                                          "\", so this one is not read";
        left.push_back({to.at(at).path, info.name, {}, {}, why, severity::note});
        continue;
      }
      found.insert(entry->first);
      total += info.bytes;
      to.add(at, info);
    }
  }
  for (const auto& [name, file] : index.files)
    if (!found.contains(name))
      return zp::error{zp::errc::corrupt, "weight_map: tensor \"" + escaped(name) +
                                              "\" is not in \"" + escaped(file) + '"'};
  if (index.total_size && *index.total_size != total)
    to.add_fault(path, "total_size is " + std::to_string(*index.total_size) +
                           ", the tensors have " + std::to_string(total) + " bytes");
  to.leave_out(std::move(left));
  return {};
}

}  // namespace

zp::result<source_pointer> open_safetensors(const std::string& path) {
  ZARRPOINT_TRY(opened, open_shard(path));
  std::vector<shard> shards;
  shards.push_back(std::move(opened));
  auto made = std::make_unique<safetensors_source>(path, std::move(shards));
  made->add_all(0);
  made->take_metadata(made->at(0).file.metadata());
  made->finish("safetensors");
  return source_pointer(std::move(made));
}

zp::result<source_pointer> open_safetensors_index(const std::string& path) {
  const auto open = [&]() -> zp::result<source_pointer> {
    ZARRPOINT_TRY(file, open_file(path));
    if (file->size() > index_limit)
      return zp::error{zp::errc::resource_limit, "an index of more than 256 MiB"};
    std::vector<std::byte> text(static_cast<std::size_t>(file->size()));
    ZARRPOINT_CHECK(file->read(0, text));
    ZARRPOINT_TRY(document, zp::parse_json(text, {.max_bytes = index_limit}));
    ZARRPOINT_TRY(index, parse_index(document));
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == path.npos ? std::string() : path.substr(0, slash + 1);
    std::map<std::string, std::size_t> positions;
    std::vector<shard> shards;
    for (const auto& [name, in] : index.files) {
      if (!positions.emplace(in, shards.size()).second) continue;
      ZARRPOINT_TRY(opened, open_shard(folder + in));
      shards.push_back(std::move(opened));
    }
    const std::size_t count = shards.size();
    auto made = std::make_unique<safetensors_source>(path, std::move(shards));
    for (std::size_t i = 0; i < count; ++i) made->take_metadata(made->at(i).file.metadata());
    ZARRPOINT_CHECK(add_indexed(*made, index, path, positions));
    made->finish("safetensors in " + std::to_string(count) + (count == 1 ? " file" : " files"));
    return source_pointer(std::move(made));
  };
  return open().at(path);
}

}  // namespace cli
