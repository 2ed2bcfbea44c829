// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

// Bits that flip, files that end early or are gone, chunks that are exchanged or come from another
// save: a strict load says an error or gives the same values.

#include "harness.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

namespace reliability {

/// A stored checkpoint of which single files are changed and put right again.
class patient {
 public:
  patient(const fs::path& folder, const form& as, std::int64_t step)
      : as_(as), step_(step), at_(folder / as.file) {
    fs::remove_all(at_);
    good_ = bool(save_step(at_.string(), as, step, false));
    files_ = files_of(at_);
    for (const fs::path& file : files_) bytes_.push_back(bytes_of(file));
  }

  bool good() const { return good_ && look(at_.string()).is(step_); }
  const form& as() const { return as_; }
  std::int64_t step() const { return step_; }
  const std::vector<fs::path>& files() const { return files_; }
  const std::string& bytes(std::size_t i) const { return bytes_[i]; }
  std::string name(std::size_t i) const {
    return std::string(as_.name) + ", " + fs::relative(files_[i], at_.parent_path()).string();
  }
  std::uint64_t size() const {
    std::uint64_t out = 0;
    for (const std::string& one : bytes_) out += one.size();
    return out;
  }
  /// The file that byte `offset` of all lies in, and where in it.
  std::pair<std::size_t, std::size_t> place(std::uint64_t offset) const {
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      if (offset < bytes_[i].size()) return {i, static_cast<std::size_t>(offset)};
      offset -= bytes_[i].size();
    }
    return {0, 0};
  }

  /// Looks at it while some bytes of a file are others.
  found with_bytes(std::size_t i, std::size_t offset, std::string_view others, bool verify) const {
    const int fd = ::open(files_[i].c_str(), O_WRONLY | O_CLOEXEC);
    put(fd, offset, others);
    const found out = look(at_.string(), verify);
    put(fd, offset, std::string_view(bytes_[i]).substr(offset, others.size()));
    ::close(fd);
    return out;
  }
  /// Looks at it while a file has another content.
  found with_file(std::size_t i, std::string_view content, bool verify) const {
    write_file(files_[i], content);
    const found out = look(at_.string(), verify);
    write_file(files_[i], bytes_[i]);
    return out;
  }
  found without_file(std::size_t i, bool verify) const {
    fs::remove(files_[i]);
    const found out = look(at_.string(), verify);
    write_file(files_[i], bytes_[i]);
    return out;
  }
  found with_two_files(std::pair<std::size_t, std::size_t> which, bool verify) const {
    write_file(files_[which.first], bytes_[which.second]);
    write_file(files_[which.second], bytes_[which.first]);
    const found out = look(at_.string(), verify);
    write_file(files_[which.first], bytes_[which.first]);
    write_file(files_[which.second], bytes_[which.second]);
    return out;
  }

 private:
  static void put(int fd, std::size_t offset, std::string_view bytes) {
    if (::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset)) !=
        static_cast<ssize_t>(bytes.size()))
      std::abort();
  }

  form as_;
  std::int64_t step_;
  fs::path at_;
  bool good_ = false;
  std::vector<fs::path> files_{};
  std::vector<std::string> bytes_{};
};

inline void judge(tally& row, const patient& of, const found& there, const std::string& what) {
  ++row.trials;
  switch (there.what) {
    case found::kind::none:
    case found::kind::failed: ++row.seen["refused"]; return;
    case found::kind::warned: ++row.seen["warned"]; return;
    case found::kind::attributes: row.shows("attributes", what); return;
    case found::kind::whole:
      if (there.step != of.step())
        row.violation(what + ": " + to_string(there));
      else
        ++row.seen["same values"];
      return;
    case found::kind::mixed: row.violation(what + ": " + to_string(there)); return;
  }
}

/// Every bit in turn where there is time for that; then two to four anywhere.
inline void flip(tally& row, const patient& of, std::uint64_t number, bool sample) {
  const std::uint64_t bits = of.size() * 8;
  const bool one = sample ? row.below(4) != 0 : number < bits;
  const std::uint64_t bit = sample || !one ? row.below(bits) : number;
  const auto [file, offset] = of.place(bit / 8);
  std::string others(1, of.bytes(file)[offset]);
  others[0] = static_cast<char>(others[0] ^ (1 << (bit % 8)));
  if (!one) {
    others = of.bytes(file).substr(offset, 1 + row.below(64));
    const std::uint64_t flips = 2 + row.below(3);
    for (std::uint64_t i = 0; i < flips; ++i) {
      char& at = others[row.below(others.size())];
      at = static_cast<char>(at ^ (1 << row.below(8)));
    }
  }
  judge(row, of, of.with_bytes(file, offset, others, !row.without()),
        of.name(file) + ": " + (one ? "bit " : "bits about ") + std::to_string(bit % 8) +
            " of byte " + std::to_string(offset));
}

inline void other_damage(tally& row, const patient& of, const patient& other) {
  const bool verify = !row.without();
  const std::size_t i = row.below(of.files().size());
  const std::string& bytes = of.bytes(i);
  const std::string name = of.name(i);
  switch (row.below(6)) {
    case 0: {
      const std::size_t kept = row.below(bytes.size() + 1);
      judge(row, of, of.with_file(i, std::string_view(bytes).substr(0, kept), verify),
            name + ": cut to " + std::to_string(kept));
      break;
    }
    case 1:
      judge(row, of, of.with_file(i, bytes + std::string(1 + row.below(600), '\0'), verify),
            name + ": something at its end");
      break;
    case 2: judge(row, of, of.without_file(i, verify), name + ": gone"); break;
    case 3: {
      const std::size_t j = row.below(of.files().size());
      judge(row, of, of.with_two_files({i, j}, verify), name + ": exchanged with " + of.name(j));
      break;
    }
    case 4:
      // Of another save; only the one of the root is there whole.
      if (of.files().size() > 1 && i < other.files().size())
        judge(row, of, of.with_file(i, other.bytes(i), verify), name + ": of another save");
      break;
    default: {
      // A part of it lies where another should.
      if (bytes.size() < 8) break;
      const std::size_t size = 1 + row.below(bytes.size() / 2);
      const std::size_t from = row.below(bytes.size() - size), to = row.below(bytes.size() - size);
      judge(row, of, of.with_bytes(i, to, std::string_view(bytes).substr(from, size), verify),
            name + ": " + std::to_string(size) + " bytes of " + std::to_string(from) + " at " +
                std::to_string(to));
    }
  }
}

/// The name of the commit document is damaged, and a chunk as well.
inline void unsealed(tally& row, const patient& of) {
  for (std::size_t i = 0; i < of.files().size(); ++i) {
    std::string root = of.bytes(i);
    const std::size_t at = root.find("\"zarrpoint\"");
    if (at == std::string::npos || of.files().size() == 1) continue;
    root[at + 3] = static_cast<char>(root[at + 3] ^ 1);
    for (std::size_t j = 0; j < of.files().size(); ++j) {
      if (!of.files()[j].string().ends_with("a/w/c.0") &&
          !of.files()[j].string().ends_with("a/w/0"))
        continue;
      write_file(of.files()[i], root);
      std::string data(1, of.bytes(j)[1]);
      data[0] = static_cast<char>(data[0] ^ 64);
      const found there = of.with_bytes(j, 1, data, true);
      write_file(of.files()[i], of.bytes(i));
      ++row.trials;
      if (there.what == found::kind::mixed)
        row.shows("unsealed", of.name(j) + ": other values, and the name of the commit document");
    }
  }
}

inline void damage(tally& row) {
  const fs::path folder = fresh_folder(row, "damage");
  const bool sample = row.of().trials < 400000;
  for (std::int64_t step = 21; row.more(); step += 2) {
    std::uint64_t longest = 0;
    std::vector<patient> all, others;
    for (const form& as : forms) {
      all.emplace_back(folder, as, step);
      fs::create_directories(folder / "other");
      others.emplace_back(folder / "other", as, step + 7);
      if (!all.back().good()) row.violation("what is not damaged is not there");
      longest = std::max(longest, all.back().size() * 8);
      if (!row.without()) unsealed(row, all.back());
    }
    for (std::uint64_t number = 0; number < longest * 2 && row.more(); ++number) {
      for (std::size_t k = 0; k < all.size() && row.more(); ++k) {
        if (row.below(5) == 0)
          other_damage(row, all[k], others[k]);
        else
          flip(row, all[k], number, sample);
      }
    }
    for (const patient& one : all) {
      if (!one.good()) row.violation("what is not damaged any more is not there");
    }
  }
}

}  // namespace reliability
