// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#include "summary.hpp"

#include <zarrpoint/memory/tensor.hpp>

#include "element_text.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace cli {

namespace {

constexpr zp::index_t edge_items = 3;
constexpr zp::index_t all_up_to = 1000;
constexpr zp::index_t most_shown = 100'000;

/// The elements that are shown: of a long axis its two ends.
class shown_elements {
 public:
  shown_elements(const zp::dims& shape, element_type type, bool all)
      : shape_(shape), kept_(shape), type_(std::move(type)) {
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      if (!all && shape[i] > 2 * edge_items) kept_[i] = 2 * edge_items;
    }
  }

  const zp::dims& kept() const { return kept_; }
  bool has_gap(std::size_t axis) const { return kept_[axis] != shape_[axis]; }

  /// Reads them, two runs along each axis with a gap.
  zp::result<std::vector<std::string>> read(const source& from, std::size_t index,
                                            const slice& of) {
    ZARRPOINT_TRY(count, element_count(kept_));
    texts_.resize(static_cast<std::size_t>(count));
    ZARRPOINT_CHECK(read_runs(from, index, of));
    return std::move(texts_);
  }

 private:
  zp::result<void> read_runs(const source& from, std::size_t index, const slice& of) {
    zp::dims run(shape_.rank(), 0);  // 0: the first run of an axis, 1: the second
    while (true) {
      zp::selection part = of.part;
      zp::dims at(shape_.rank(), 0);
      zp::dims extent = kept_;
      for (std::size_t d = 0; d < shape_.rank(); ++d) {
        if (has_gap(d)) extent[d] = edge_items;
        const auto axis = static_cast<std::size_t>(of.axes[d]);
        const zp::index_t skipped = run[d] == 0 ? 0 : shape_[d] - edge_items;
        at[d] = run[d] == 0 ? 0 : edge_items;
        part.offset[axis] += skipped * part.step[axis];
        part.shape[axis] = extent[d];
      }
      ZARRPOINT_TRY(block, zp::tensor::make({from.entries()[index].spec->type, part.shape}));
      ZARRPOINT_CHECK(from.read(index, part, block.mutable_view()));
      scatter(block, at, extent);
      std::size_t d = shape_.rank();
      while (d > 0 && (++run[d - 1] == 2 || !has_gap(d - 1))) run[--d] = 0;
      if (d == 0) return {};
    }
  }

  void scatter(const zp::tensor& block, const zp::dims& first, const zp::dims& extent) {
    zp::dims at(extent.rank(), 0);
    const std::size_t step = memory_size(block.type());
    for (std::size_t i = 0; i < block.size(); ++i) {
      zp::index_t place = 0;
      for (std::size_t d = 0; d < at.rank(); ++d) place = place * kept_[d] + first[d] + at[d];
      append_plain(texts_[static_cast<std::size_t>(place)], block.view().data + i * step, type_);
      for (std::size_t d = at.rank(); d-- > 0;) {
        if (++at[d] < extent[d]) break;
        at[d] = 0;
      }
    }
  }

  const zp::dims shape_;
  zp::dims kept_;
  const element_type type_;
  std::vector<std::string> texts_;
};

/// Brackets and lines.
class layout {
 public:
  layout(const shown_elements& of, const std::vector<std::string>& texts)
      : of_(of), texts_(texts), width_(std::min<std::size_t>(terminal_width(), 120)) {
    for (const std::string& text : texts) {
      // Text and vectors are not aligned.
      if (!text.starts_with('"') && !text.starts_with('['))
        widest_ = std::max(widest_, columns(text));
    }
  }

  std::string text() {
    if (of_.kept().empty()) return texts_[0];
    draw(0);
    return std::move(out_);
  }

 private:
  void draw(std::size_t axis) {
    out_ += '[';
    const bool innermost = axis + 1 == of_.kept().rank();
    for (zp::index_t i = 0; i < of_.kept()[axis]; ++i) {
      if (i == edge_items && of_.has_gap(axis)) {
        innermost ? put_word("...", axis, false) : next_list(axis, "...");
      }
      if (innermost) {
        put_word(padded(texts_[next_], widest_, true), axis, i == 0);
        ++next_;
      } else {
        if (i != 0) next_list(axis, "");
        draw(axis + 1);
      }
    }
    out_ += ']';
  }

  /// A word of a line, or of the next one when that is full.
  void put_word(const std::string& word, std::size_t axis, bool first) {
    const std::size_t used = columns(word) + (first ? 0 : 1);
    if (first) {
      column_ = axis + 1;
    } else if (column_ + used + of_.kept().rank() > width_) {
      out_ += '\n' + std::string(axis + 1, ' ');
      column_ = axis + 1 + columns(word);
      out_ += word;
      return;
    } else {
      out_ += ' ';
    }
    out_ += word;
    column_ += used;
  }

  void next_list(std::size_t axis, std::string_view mark) {
    const std::string lines(of_.kept().rank() - axis - 1, '\n');
    out_ += lines + std::string(axis + 1, ' ') + std::string(mark);
  }

  const shown_elements& of_;
  const std::vector<std::string>& texts_;
  const std::size_t width_;
  std::size_t widest_ = 0;
  std::size_t column_ = 0;
  std::size_t next_ = 0;
  std::string out_;
};

}  // namespace

zp::result<std::string> summary_text(const source& from, std::size_t index, const slice& part) {
  // As many as are counted, and more, are not all shown.
  const zp::index_t count = element_count(part.shape).value_or(all_up_to + 1);
  if (count == 0) return std::string("[]");
  shown_elements shown(part.shape, from.entries()[index].elements(), count <= all_up_to);
  if (element_count(shown.kept()).value_or(most_shown + 1) > most_shown)
    return zp::error{zp::errc::unsupported,
                     "too many dimensions to show; use --slice to choose a part"};
  ZARRPOINT_TRY(texts, shown.read(from, index, part));
  return layout(shown, texts).text();
}

}  // namespace cli
