// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// A model in several files, safetensors or of torch.save, by the index that Hugging Face writes
// beside them.

#include <zarrpoint/interop/hierarchy/virtual_hierarchy.hpp>
#include <zarrpoint/zarr/json/json.hpp>

#include "files.hpp"
#include "row_blocks.hpp"
#include "source.hpp"
#include "text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cli {

namespace {

constexpr std::size_t index_limit = std::size_t{256} << 20;

/// What an index says: which tensor is in which file, and the bytes in all.
struct index_document {
  std::map<std::string, std::string, std::less<>> files;
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

/// The name in the file.
std::string_view original_name(const entry& of) {
  const zp::node* const told = of.attributes.find(zp::detail::original_name_member);
  return told != nullptr && told->if_string() != nullptr ? *told->if_string()
                                                         : std::string_view(of.name);
}

class joined_source final : public source {
 public:
  joined_source(std::string path, index_document index, bool in_directory)
      : path_(std::move(path)), index_(std::move(index)), in_directory_(in_directory) {}

  zp::result<void> open(const zp::context& how) {
    const std::string folder = path_.substr(0, path_.rfind('/') + 1);  // npos + 1 == 0
    std::map<std::string, std::vector<std::string_view>> names;
    for (const auto& [name, file] : index_.files) names[file].push_back(name);
    for (const auto& [file, of_file] : names) {
      if (in_directory_) ZARRPOINT_CHECK(check_links(folder, file));
      const bool is_safetensors = file.ends_with(".safetensors");
      auto part = is_safetensors ? open_safetensors(folder + file) : open_zarr(folder + file, how);
      if (!part) return std::move(part).failure();
      (*part)->set_context(how);
      is_safetensors_ = is_safetensors_ && is_safetensors;
      if (is_safetensors && (*part)->attributes().find("DCP_SHARDING_INFO") != nullptr) {
        is_in_parts_ = true;
        return {};
      }
      ZARRPOINT_CHECK(add(file, folder + file, of_file.size(), *std::move(part)));
    }
    sort_entries();
    for (const source_pointer& part : parts_) take_whole(*part);
    const std::string count = std::to_string(parts_.size());
    format_ = (parts_.empty() ? "index" : parts_.front()->format()) + " in " + count +
              (parts_.size() == 1 ? " file" : " files");
    ZARRPOINT_CHECK(compare_total());
    tell_left();
    return {};
  }

  /// Whether tensors of torch.distributed.checkpoint may lie in several of the files, a part in
  /// each. Then this has not read them all.
  bool is_in_parts() const { return is_in_parts_; }

  zp::result<void> read(std::size_t index, const zp::selection& part,
                        const zp::mutable_host_view& into) const override {
    return at(index).read(places_[index].index, part, into);
  }
  zp::result<std::optional<zp::host_view>> lend(std::size_t index) const override {
    return at(index).lend(places_[index].index);
  }
  zp::result<std::uint64_t> stored_bytes(std::size_t index) const override {
    return at(index).stored_bytes(places_[index].index);
  }
  zp::node stored_form(std::size_t index) const override {
    return at(index).stored_form(places_[index].index);
  }
  zp::result<std::vector<stored_key>> stored_objects(std::size_t index) const override {
    return at(index).stored_objects(places_[index].index);
  }
  zp::result<std::unique_ptr<zp::blob>> open_stored(std::size_t index,
                                                    const std::string& key) const override {
    return at(index).open_stored(places_[index].index, key);
  }
  void verify(verification& to) const override {
    for (const finding& note : notes_) to.add(note);
    verify_by_reading(*this, path_, to);
  }

 private:
  /// Where an entry comes from.
  struct place {
    std::size_t part = 0;
    std::size_t index = 0;
  };

  const source& at(std::size_t index) const { return *parts_[places_[index].part]; }

  /// The tensors that the index takes from a file; it must have all `count` of them.
  zp::result<void> add(const std::string& file, const std::string& path, std::size_t count,
                       source_pointer part) {
    std::size_t found = 0;
    const std::vector<entry>& all = part->entries();
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::string_view name = original_name(all[i]);
      const auto told = index_.files.find(name);
      if (told != index_.files.end() && told->second == file) {
        ++found;
        entries_.push_back(all[i]);
        places_.push_back({parts_.size(), i});
        continue;
      }
      const std::string why = told == index_.files.end()
                                  ? "not in the weight_map, so it is not read"
                                  : "the weight_map takes it from \"" + escaped(told->second) +
                                        "\", so this one is not read";
      left_.push_back({path, std::string(name), {}, {}, why, severity::note});
    }
    parts_.push_back(std::move(part));
    return found == count ? zp::result<void>() : missing(file);
  }

  zp::error missing(const std::string& file) const {
    std::set<std::string_view> found;
    for (const entry& one : entries_) found.insert(original_name(one));
    for (const auto& [name, in] : index_.files) {
      if (in == file && !found.contains(name))
        return {zp::errc::corrupt,
                "weight_map: tensor \"" + escaped(name) + "\" is not in \"" + escaped(file) + '"'};
    }
    return {zp::errc::corrupt, "\"" + escaped(file) + "\" has a tensor twice"};
  }

  void sort_entries() {
    std::vector<std::size_t> order(entries_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return entries_[a].name < entries_[b].name; });
    std::vector<entry> entries;
    std::vector<place> places;
    for (const std::size_t i : order) {
      entries.push_back(std::move(entries_[i]));
      places.push_back(places_[i]);
    }
    entries_ = std::move(entries);
    places_ = std::move(places);
  }

  /// What a part says of the whole.
  void take_whole(const source& part) {
    if (const zp::node::object* const members = part.attributes().if_object())
      for (const auto& [key, value] : *members) attributes_.set(key, value);
    for (const std::string& warning : part.warnings()) warnings_.push_back(warning);
  }

  /// `total_size` counts the bytes of tensors, which safetensors have as they are.
  zp::result<void> compare_total() {
    if (!index_.total_size || !is_safetensors_) return {};
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      ZARRPOINT_TRY(bytes, stored_bytes(i));
      total += bytes;
    }
    if (*index_.total_size != total)
      notes_.push_back({path_,
                        {},
                        {},
                        {},
                        "total_size is " + std::to_string(*index_.total_size) +
                            ", the tensors have " + std::to_string(total) + " bytes"});
    return {};
  }

  /// Says that tensors of the files are not read, though they are there.
  void tell_left() {
    if (left_.empty()) return;
    std::string text = "the weight_map leaves out " + std::to_string(left_.size()) +
                       (left_.size() == 1 ? " tensor" : " tensors") + " of its files:";
    for (std::size_t i = 0; i < left_.size() && i < 8; ++i)
      text += (i == 0 ? " \"" : ", \"") + escaped(left_[i].node) + "\" of " +
              escaped(file_name(left_[i].file));
    if (left_.size() > 8) text += " and " + std::to_string(left_.size() - 8) + " more";
    warnings_.push_back(std::move(text));
    for (finding& each : left_) notes_.push_back(std::move(each));
  }

  std::string path_;
  index_document index_;
  bool in_directory_;
  std::vector<source_pointer> parts_;
  std::vector<place> places_;  ///< of the entries
  std::vector<finding> left_;
  std::vector<finding> notes_;
  bool is_safetensors_ = true;
  bool is_in_parts_ = false;
};

/// Files of torch.distributed.checkpoint, by the library, which joins the parts of a tensor.
zp::result<source_pointer> open_parts(const std::string& path, const zp::context& how) {
  constexpr std::string_view known = "model.safetensors.index.json";
  if (file_name(path) != known)
    return zp::error{zp::errc::unsupported,
                     "its files have parts of tensors (DCP_SHARDING_INFO); call the index " +
                         std::string(known)};
  const std::string folder = path.substr(0, path.size() - known.size());
  return open_zarr(folder.empty() ? "." : folder, how);
}

}  // namespace

zp::result<source_pointer> open_index(const std::string& path, const zp::context& how,
                                      bool in_directory) {
  const auto open = [&]() -> zp::result<source_pointer> {
    if (in_directory) {
      const std::size_t slash = path.rfind('/');
      ZARRPOINT_CHECK(check_links(path.substr(0, slash + 1), path.substr(slash + 1)));
    }
    ZARRPOINT_TRY(file, open_file(path));
    if (file->size() > index_limit)
      return zp::error{zp::errc::resource_limit, "an index of more than 256 MiB"};
    std::vector<std::byte> text(static_cast<std::size_t>(file->size()));
    ZARRPOINT_CHECK(file->read(0, text));
    ZARRPOINT_TRY(document, zp::parse_json(text, {.max_bytes = index_limit}));
    ZARRPOINT_TRY(index, parse_index(document));
    auto made = std::make_unique<joined_source>(path, std::move(index), in_directory);
    ZARRPOINT_CHECK(made->open(how));
    if (made->is_in_parts()) return open_parts(path, how);
    return source_pointer(std::move(made));
  };
  return open().at(path);
}

}  // namespace cli
