// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// `zarrpoint verify`: reads everything and lists every fault.

#include <zarrpoint/checkpoint/verify/verify.hpp>

#include "commands.hpp"
#include "files.hpp"
#include "output.hpp"
#include "source.hpp"
#include "source_zarr.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <array>
#include <utility>

namespace cli {

namespace {

constexpr std::string_view name_of(severity kind) {
  constexpr std::array<std::string_view, 3> names{"fault", "unverified", "note"};
  return names[static_cast<std::size_t>(kind)];
}

std::string line_of(const finding& what) {
  constexpr std::array colours{paint::red, paint::yellow, paint::faint};
  std::string out = painted(name_of(what.kind), colours[static_cast<std::size_t>(what.kind)]);
  out += "  " + escaped(what.file, false);
  if (!what.node.empty()) out += ": array \"" + escaped(what.node) + '"';
  if (!what.key.empty()) out += ": key " + escaped(what.key);
  if (!what.chunk.empty()) out += ": chunk " + what.chunk;
  return out + ": " + escaped(what.message, false) + '\n';
}

zp::json json_of(const finding& what) {
  zp::json out = zp::json::object{{"kind", name_of(what.kind)}, {"file", text_json(what.file)}};
  if (!what.node.empty()) out.set("array", text_json(what.node));
  if (!what.key.empty()) out.set("key", text_json(what.key));
  if (!what.chunk.empty()) out.set("chunk", what.chunk);
  out.set("message", text_json(what.message));
  return out;
}

/// Lists what is found at once, or in the end as JSON.
class report final : public verification {
 public:
  report(const verify_arguments& of, const zp::context& how) : of_(of), stop_(how.stop) {}

  void begin(const std::vector<entry>& entries) {
    std::uint64_t bytes = 0;
    for (const entry& array : entries) {
      bytes = entry::sum(bytes, array.bytes());
      elements_ = entry::sum(elements_, array.element_total());
    }
    bar_.reset();
    bar_.emplace("verify", bytes);
  }
  void add(finding what) override {
    ++counts_[static_cast<std::size_t>(what.kind)];
    if (of_.json) {
      found_.push_back(json_of(what));
      return;
    }
    bar_.reset();  // the next line would stand in the same one
    if (auto done = put(line_of(what)); !done) output_ = std::move(done);
  }
  void read(std::string_view node, std::uint64_t elements, std::uint64_t bytes) override {
    elements_read_ = entry::sum(elements_read_, elements);
    bytes_ += bytes;
    if (bar_) bar_->add(node, bytes);
  }
  void absent(std::uint64_t elements) override {
    elements_absent_ = entry::sum(elements_absent_, elements);
  }
  bool stopped() const override { return stop_.stop_requested() || !output_; }

  /// Of `from`, once it was verified.
  exit_status finish(const source& from) {
    for (std::size_t i = 0; i < from.entries().size(); ++i)
      if (from.entries()[i].element_total() != 0) ++(from.has_checksums(i) ? summed_ : bare_);
    return finish(from.entries().size());
  }
  exit_status finish(std::size_t arrays) {
    bar_.reset();
    if (stop_.stop_requested()) return fail({zp::errc::cancelled, "interrupted"});
    if (counts_[0] == 0 && counts_[1] == 0) check_all_read(arrays);
    const auto [faults, unverified, notes] = counts_;
    zp::result<void> done = std::move(output_);
    if (done && of_.json) {
      done = put_json(zp::json::object{{"path", text_json(of_.path)},
                                       {"ok", faults == 0 && unverified == 0},
                                       {"verdict", verdict_text()},
                                       {"arrays", std::uint64_t{arrays}},
                                       {"arrays_without_checksums", bare_},
                                       {"bytes", bytes_},
                                       {"elements", elements_},
                                       {"elements_read", elements_read_},
                                       {"elements_not_stored", elements_absent_},
                                       {"faults", faults},
                                       {"unverified", unverified},
                                       {"notes", notes},
                                       {"findings", std::move(found_)}});
    } else if (done) {
      done = put(summary(arrays) + '\n');
    }
    if (!done) return fail(done.failure());
    if (faults != 0) return exit_status::no;
    return unverified != 0 ? exit_status::unverified : exit_status::ok;
  }

 private:
  /// OK is said of every element.
  void check_all_read(std::size_t arrays) {
    std::string what;
    if (elements_ == 0) {
      what = std::string("there is no ") + (arrays == 0 ? "array" : "element") +
             " in it: nothing was verified";
    } else if (const std::uint64_t seen = entry::sum(elements_read_, elements_absent_);
               seen != elements_) {
      what = "of " + std::to_string(elements_) + " elements " + std::to_string(elements_read_) +
             " were read";
    }
    if (!what.empty()) add({of_.path, {}, {}, {}, std::move(what), severity::unverified});
  }

  std::string_view verdict_text() const {
    const auto [faults, unverified, notes] = counts_;
    return to_string(faults != 0       ? zp::verdict::faulty
                     : unverified != 0 ? zp::verdict::not_verified
                                       : zp::verdict::ok);
  }

  std::string summary(std::size_t arrays) const {
    const auto counted = [](std::uint64_t count, const std::string& what) {
      return std::to_string(count) + ' ' + what + (count == 1 ? "" : "s");
    };
    const auto [faults, unverified, notes] = counts_;
    const std::string read = counted(arrays, "array") + ", " + byte_text(bytes_) + " read";
    std::string out = faults != 0       ? painted("FAULTY", paint::red)
                      : unverified != 0 ? painted("NOT VERIFIED", paint::yellow)
                                        : painted("OK", paint::green);
    if (faults == 0 && unverified == 0 && summed_ == 0) out += " (no checksums to compare)";
    out += "  " + escaped(of_.path) + ": " + read;
    if (elements_absent_ != 0) out += ", " + counted(elements_absent_, "element") + " not stored";
    if (faults != 0) out += ", " + counted(faults, "fault");
    if (unverified != 0) out += ", " + std::to_string(unverified) + " not verified";
    if (summed_ != 0 && bare_ != 0) out += ", " + counted(bare_, "array") + " without checksums";
    if (notes != 0) out += ", " + counted(notes, "note");
    return out;
  }

  const verify_arguments& of_;
  const zp::stop_token stop_;
  std::optional<progress> bar_;
  std::array<std::uint64_t, 3> counts_{};
  std::uint64_t bytes_ = 0;
  std::uint64_t elements_ = 0;         ///< of all arrays
  std::uint64_t elements_read_ = 0;    ///< that were right
  std::uint64_t elements_absent_ = 0;  ///< of chunks that are not stored
  std::uint64_t summed_ = 0;           ///< arrays with checksums that were compared
  std::uint64_t bare_ = 0;             ///< and without
  zp::json::array found_;
  zp::result<void> output_;
};

bool is_damage(zp::errc code) {
  return code == zp::errc::corrupt || code == zp::errc::out_of_range;
}

}  // namespace

exit_status run_verify(const verify_arguments& of, const zp::context& how) {
  report to(of, how);
  auto from = open_source(of.path, how);
  if (!from) {
    const zp::errc code = from.failure().code;
    const bool is_unknown = code == zp::errc::unsupported || code == zp::errc::resource_limit;
    if (!is_damage(code) && !is_unknown) return fail(from.failure());
    to.add({of.path, {}, {}, {}, to_string(from.failure()), severity_of(code)});
    if (is_unknown) return to.finish(0);
    if (kind_of(of.path) != path_kind::directory) return to.finish(0);
    // What still has a name of its own can be looked at one by one.
    std::vector<finding> faults;
    from = open_damaged_zarr(of.path, how, faults);
    if (!from) return to.finish(0);
    for (finding& each : faults) to.add(std::move(each));
  }
  to.begin((*from)->entries());
  (*from)->verify(to);
  return to.finish(**from);
}

}  // namespace cli
