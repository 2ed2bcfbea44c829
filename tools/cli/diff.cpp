// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// `zarrpoint diff`: what differs between two sets of arrays, whatever their formats.

#include <zarrpoint/core/types/visit.hpp>
#include <zarrpoint/memory/cast.hpp>

#include "commands.hpp"
#include "element_text.hpp"
#include "output.hpp"
#include "row_blocks.hpp"
#include "source.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <map>
#include <utility>

namespace cli {

namespace {

/// How the values of two arrays differ.
struct value_difference {
  std::uint64_t count = 0;
  double largest = 0;      ///< |a - b|; NaN where one of them is, infinite where one of them is
  bool comparable = true;  ///< false for strings, which have no distance
  std::uint64_t first = 0;
  std::string a, b;  ///< the first place, as text
};

/// |a - b|, exact for integers as long as a double holds it.
template <class T>
double distance(T a, T b) {
  if constexpr (std::same_as<T, bool>) {
    return a == b ? 0 : 1;
  } else if constexpr (std::integral<T>) {
    const auto low = static_cast<std::uint64_t>(std::min(a, b));
    return static_cast<double>(static_cast<std::uint64_t>(std::max(a, b)) - low);
  } else if constexpr (zp::dtype_of<T>.is_complex()) {
    using wide = std::complex<double>;
    return std::abs(wide(a.real(), a.imag()) - wide(b.real(), b.imag()));
  } else {
    return std::abs(static_cast<double>(a) - static_cast<double>(b));
  }
}

template <class T>
T load(const std::byte* from) {
  if constexpr (std::same_as<T, bool>) {
    return *from != std::byte{0};
  } else {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
  }
}

/// NaN beats infinity, which beats numbers.
double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }

/// Adds what differs between two blocks of one dtype.
class block_comparison {
 public:
  /// `items` are those of both, if they are arrays of vectors.
  block_comparison(std::optional<double> tolerance, const std::optional<vector_items>& items,
                   value_difference& to)
      : tolerance_(tolerance), items_(items), to_(to) {}

  void run(const zp::tensor& a, const zp::tensor& b, std::uint64_t first) {
    if (a.type().is_variable()) return compare_text(a, b, first);
    const std::size_t size = a.type().size();
    if (std::memcmp(a.view().data, b.view().data, a.size() * size) == 0) return;
    if (!a.type().is_number()) return compare_bytes(a, b, first);
    zp::visit_dtype(a.type(), [&]<class T>() {
      const std::byte* x = a.view().data;
      const std::byte* y = b.view().data;
      for (std::size_t i = 0; i < a.size(); ++i, x += size, y += size) {
        if (std::memcmp(x, y, size) == 0) continue;
        const double apart = distance(load<T>(x), load<T>(y));
        if (tolerance_ && (apart <= *tolerance_ || are_equal<T>(x, y))) continue;
        if (to_.count++ == 0) remember(a.type(), {x, y}, first + i);
        to_.largest = larger(apart, to_.largest);
      }
    });
  }

 private:
  /// As numbers: 0.0 and -0.0, infinities of a sign, and any two NaN.
  template <class T>
  static bool are_equal(const std::byte* x, const std::byte* y) {
    const T a = load<T>(x), b = load<T>(y);
    return a == b || (a != a && b != b);
  }

  void compare_text(const zp::tensor& a, const zp::tensor& b, std::uint64_t first) {
    to_.comparable = false;
    const auto x = a.data<std::string>();
    const auto y = b.data<std::string>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] == y[i] || to_.count++ != 0) continue;
      remember(
          a.type(),
          {reinterpret_cast<const std::byte*>(&x[i]), reinterpret_cast<const std::byte*>(&y[i])},
          first + i);
    }
  }

  /// Of records, text of one length and times: they differ or they do not.
  void compare_bytes(const zp::tensor& a, const zp::tensor& b, std::uint64_t first) {
    to_.comparable = false;
    const std::size_t size = a.type().size();
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::byte* const x = a.view().data + i * size;
      const std::byte* const y = b.view().data + i * size;
      if (std::memcmp(x, y, size) == 0 || to_.count++ != 0) continue;
      remember(a.type(), {x, y}, first + i);
    }
  }

  void remember(const zp::dtype& type, std::pair<const std::byte*, const std::byte*> at,
                std::uint64_t place) {
    to_.first = place;
    append_plain(to_.a, at.first, {type, items_});
    append_plain(to_.b, at.second, {type, items_});
  }

  const std::optional<double> tolerance_;
  const std::optional<vector_items> items_;
  value_difference& to_;
};

/// The type in which numbers of two types are compared.
zp::dtype common_type(zp::dtype a, zp::dtype b) {
  if (a == b) return a;
  if (a.is_complex() || b.is_complex()) return zp::dtype_kind::complex128;
  const auto is_small = [](zp::dtype type) { return type.is_integer() && type.size() < 8; };
  if (is_small(a) && is_small(b)) return zp::dtype_kind::int64;
  return zp::dtype_kind::float64;
}

/// Bytes that are not vectors, or vectors of different types, are shown as bytes.
std::optional<vector_items> common_items(const entry& a, const entry& b) {
  const bool same =
      a.items && b.items && a.items->type == b.items->type && a.items->swapped == b.items->swapped;
  return same ? a.items : std::nullopt;
}

class comparison {
 public:
  comparison(const diff_arguments& of, const source& a, const source& b) : of_(of), a_(a), b_(b) {}

  zp::result<void> run() {
    std::map<std::string, std::pair<const entry*, const entry*>> pairs;
    for (const entry& each : a_.entries()) pairs[each.name].first = &each;
    for (const entry& each : b_.entries()) pairs[each.name].second = &each;
    // A single array is called as its file is, or not at all.
    if (a_.entries().size() == 1 && b_.entries().size() == 1 &&
        (a_.entries()[0].name.empty() || b_.entries()[0].name.empty())) {
      pairs.clear();
      pairs[a_.entries()[0].name] = {&a_.entries()[0], &b_.entries()[0]};
    }
    std::uint64_t bytes = 0;
    for (const auto& [name, pair] : pairs) bytes += pair.first != nullptr ? pair.first->bytes() : 0;
    bar_.emplace("compare", bytes);
    for (const auto& [name, pair] : pairs) ZARRPOINT_CHECK(compare(name, pair.first, pair.second));
    bar_.reset();
    return finish();
  }
  exit_status status() const {
    if (failed_) return exit_status::failed;
    return differ_ != 0 ? exit_status::no : exit_status::ok;
  }

 private:
  static std::string called(const std::string& name) {
    return name.empty() ? "(root)" : '"' + escaped(name) + '"';
  }

  zp::result<void> tell(const std::string& name, const std::string& line, zp::json json) {
    ++differ_;
    if (of_.json) {
      json.set("array", text_json(name));
      found_.push_back(std::move(json));
      return {};
    }
    bar_.reset();
    return put(called(name) + ": " + line + '\n');
  }

  zp::result<void> compare(const std::string& name, const entry* a, const entry* b) {
    if (a == nullptr || b == nullptr) {
      const std::string where = a == nullptr ? "B" : "A";
      ++(a == nullptr ? only_in_b_ : only_in_a_);
      return tell(name, "only in " + where, zp::json::object{{"only_in", where}});
    }
    if (a->fault || b->fault) return compare_unread(name, *a, *b);
    ++compared_;
    const std::uint64_t before = differ_;
    if (a->spec->type != b->spec->type) {
      const std::string x(to_string(a->spec->type)), y(to_string(b->spec->type));
      ZARRPOINT_CHECK(
          tell(name, "dtype " + x + " | " + y, zp::json::object{{"dtype", zp::json::array{x, y}}}));
    }
    if (a->spec->shape != b->spec->shape) {
      ZARRPOINT_CHECK(
          tell(name, "shape " + shape_text(a->spec->shape) + " | " + shape_text(b->spec->shape),
               zp::json::object{
                   {"shape", zp::json::array{to_json(a->spec->shape), to_json(b->spec->shape)}}}));
    } else if (a->spec->type.castable_to(b->spec->type)) {
      ZARRPOINT_CHECK(compare_values(name, *a, *b));
    }
    if (differ_ != before) ++different_arrays_;
    return {};
  }

  /// Says why an array is not compared.
  zp::result<void> give_up(zp::error why) {
    failed_ = true;
    bar_.reset();
    fail(why);
    return {};
  }

  zp::result<void> give_up_on(const std::string& name, const std::string& side, zp::error why) {
    return give_up(std::move(why).at(side + ": array " + called(name)));
  }

  /// Two arrays of which at least one cannot be read: their types and shapes, and where both are
  /// stored in the same way the bytes of their objects.
  zp::result<void> compare_unread(const std::string& name, const entry& a, const entry& b) {
    for (const entry* each : {&a, &b})
      if (each->fault && each->fault->code != zp::errc::unsupported)
        return give_up_on(name, each == &a ? "A" : "B", *each->fault);
    const auto shape_of = [](const entry& of) {
      if (of.spec) return std::optional(of.spec->shape);
      return of.told_shape ? std::optional(*of.told_shape) : std::nullopt;
    };
    const std::uint64_t before = differ_;
    if (a.type != b.type)
      ZARRPOINT_CHECK(
          tell(name, "dtype " + escaped(a.type) + " | " + escaped(b.type),
               zp::json::object{{"dtype", zp::json::array{text_json(a.type), text_json(b.type)}}}));
    const auto x = shape_of(a), y = shape_of(b);
    if (x && y && *x != *y)
      ZARRPOINT_CHECK(tell(name, "shape " + shape_text(*x) + " | " + shape_text(*y),
                           zp::json::object{{"shape", zp::json::array{to_json(*x), to_json(*y)}}}));
    if (differ_ == before) {
      ZARRPOINT_TRY(done, compare_stored(name, a, b));
      if (!done) return {};
    }
    ++compared_;
    if (differ_ != before) ++different_arrays_;
    return {};
  }

  /// False where nothing can be said.
  zp::result<bool> compare_stored(const std::string& name, const entry& a, const entry& b) {
    for (const entry* each : {&a, &b}) {
      if (each->fault) continue;
      const entry& unread = each == &a ? b : a;
      ZARRPOINT_CHECK(give_up_on(name, each == &a ? "B" : "A", *unread.fault));
      return false;
    }
    const auto index_a = static_cast<std::size_t>(&a - a_.entries().data());
    const auto index_b = static_cast<std::size_t>(&b - b_.entries().data());
    const zp::json form = a_.stored_form(index_a);
    if (form.is_null()) {
      ZARRPOINT_CHECK(give_up_on(name, "A", *a.fault));
      return false;
    }
    if (form != b_.stored_form(index_b)) {
      ZARRPOINT_CHECK(give_up(zp::error(*a.fault).at(
          "array " + called(name) + ": A and B store it in two ways, and neither is read")));
      return false;
    }
    auto where = stored_difference(index_a, index_b);
    if (!where && where.failure().code == zp::errc::cancelled) return std::move(where).failure();
    if (!where) {
      ZARRPOINT_CHECK(give_up(std::move(where).failure().at("array " + called(name))));
      return false;
    }
    if (!where->empty()) {
      ZARRPOINT_CHECK(tell(name, "the stored bytes differ: " + *where,
                           zp::json::object{{"stored", text_json(*where)}}));
    } else {
      bar_.reset();
      note("array " + called(name) +
           ": only its stored bytes were compared: " + std::string(a.fault->message));
    }
    return true;
  }

  /// Where the objects of two arrays differ; empty where they do not.
  zp::result<std::string> stored_difference(std::size_t a, std::size_t b) const {
    ZARRPOINT_TRY(keys_a, a_.stored_objects(a));
    ZARRPOINT_TRY(keys_b, b_.stored_objects(b));
    for (std::size_t i = 0; i < std::max(keys_a.size(), keys_b.size()); ++i) {
      const bool only_a =
          i >= keys_b.size() || (i < keys_a.size() && keys_a[i].key < keys_b[i].key);
      const bool only_b =
          i >= keys_a.size() || (i < keys_b.size() && keys_b[i].key < keys_a[i].key);
      if (only_a) return "object " + escaped(keys_a[i].key) + " is only in A";
      if (only_b) return "object " + escaped(keys_b[i].key) + " is only in B";
      if (keys_a[i].size != keys_b[i].size)
        return "object " + escaped(keys_a[i].key) + " has " + std::to_string(keys_a[i].size) +
               " | " + std::to_string(keys_b[i].size) + " bytes";
      ZARRPOINT_TRY(x, a_.open_stored(a, keys_a[i].key));
      ZARRPOINT_TRY(y, b_.open_stored(b, keys_b[i].key));
      if (x == nullptr || y == nullptr || x->size() != y->size())
        return zp::error{zp::errc::io,
                         "object " + escaped(keys_a[i].key) + " was changed while it was compared"};
      ZARRPOINT_TRY(at, first_difference(*x, *y));
      if (at) return "object " + escaped(keys_a[i].key) + " at byte " + std::to_string(*at);
    }
    return std::string();
  }

  zp::result<std::optional<std::uint64_t>> first_difference(const zp::blob& a,
                                                            const zp::blob& b) const {
    constexpr std::uint64_t most = std::uint64_t{1} << 20;
    const auto length = static_cast<std::size_t>(std::min(most, a.size()));
    std::vector<std::byte> x(length), y(length);
    for (std::uint64_t at = 0; at < a.size(); at += length) {
      ZARRPOINT_CHECK(a_.check_stop());
      const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(length, a.size() - at));
      const auto into = [&](std::vector<std::byte>& all) {
        return zp::mutable_bytes(all).first(count);
      };
      ZARRPOINT_CHECK(a.read(at, into(x)));
      ZARRPOINT_CHECK(b.read(at, into(y)));
      const auto end = x.begin() + static_cast<std::ptrdiff_t>(count);
      const auto found = std::mismatch(x.begin(), end, y.begin()).first;
      if (found != end) return std::optional(at + static_cast<std::uint64_t>(found - x.begin()));
    }
    return std::optional<std::uint64_t>();
  }

  zp::result<void> compare_values(const std::string& name, const entry& a, const entry& b) {
    value_difference found;
    block_comparison with(of_.tolerance, common_items(a, b), found);
    const auto index_a = static_cast<std::size_t>(&a - a_.entries().data());
    const auto index_b = static_cast<std::size_t>(&b - b_.entries().data());
    const zp::dtype common = common_type(a.spec->type, b.spec->type);
    const auto in_common = [&](zp::tensor& block) -> zp::result<void> {
      if (block.type() == common) return {};
      ZARRPOINT_TRY(cast, zp::tensor::make({common, block.shape()}));
      ZARRPOINT_CHECK(zarrpoint::detail::cast_elements(cast.mutable_view(), block.view()));
      block = std::move(cast);
      return {};
    };
    const auto status =
        for_each_row_block(a, whole(a), a_.blocks(),
                           [&](const zp::selection& part, std::uint64_t first) -> zp::result<void> {
                             ZARRPOINT_CHECK(a_.check_stop());
                             ZARRPOINT_TRY(x, zp::tensor::make({a.spec->type, part.shape}));
                             ZARRPOINT_TRY(y, zp::tensor::make({b.spec->type, part.shape}));
                             ZARRPOINT_CHECK(a_.read(index_a, part, x.mutable_view()));
                             ZARRPOINT_CHECK(b_.read(index_b, part, y.mutable_view()));
                             if (bar_) bar_->add(name, byte_count(x.spec()).value_or(0));
                             ZARRPOINT_CHECK(in_common(x));
                             ZARRPOINT_CHECK(in_common(y));
                             with.run(x, y, first);
                             return {};
                           });
    if (!status) {
      if (status.failure().code == zp::errc::cancelled) return status;
      failed_ = true;
      bar_.reset();
      fail(status.failure());
    }
    if (found.count == 0) return {};
    return tell_values(name, a, found);
  }

  /// Two texts that differ, as far as a line has room: from a little before the first difference.
  static std::pair<std::string, std::string> shown(std::string_view a, std::string_view b) {
    constexpr std::size_t most = 60;
    constexpr std::size_t before = 20;
    std::size_t from = 0;
    if (std::max(columns(a), columns(b)) > most) {
      const auto ends = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
      const auto same = static_cast<std::size_t>(ends.first - a.begin());
      from = same > before ? same - before : 0;
      const auto is_inside = [&](std::string_view text) {
        return from < text.size() && (static_cast<unsigned char>(text[from]) & 0xc0U) == 0x80;
      };
      while (from > 0 && (is_inside(a) || is_inside(b))) --from;
    }
    const auto cut = [&](std::string_view text) {
      return (from > 0 ? "…" : "") + cut_to(text.substr(std::min(from, text.size())), most);
    };
    return {cut(a), cut(b)};
  }

  zp::result<void> tell_values(const std::string& name, const entry& of,
                               const value_difference& found) {
    const zp::dims& shape = of.spec->shape;
    const auto total = static_cast<std::uint64_t>(element_count(shape).value_or(0));
    zp::dims place(shape.rank(), 0);
    std::uint64_t rest = found.first;
    for (std::size_t i = shape.rank(); i-- > 0;) {
      const auto extent = static_cast<std::uint64_t>(shape[i]);
      place[i] = static_cast<zp::index_t>(rest % extent);
      rest /= extent;
    }
    std::string line = std::to_string(found.count) + " of " + std::to_string(total) +
                       (total == 1 ? " value differs" : " values differ");
    if (found.comparable) line += ", by at most " + shortest(found.largest);
    const auto [a, b] = shown(found.a, found.b);
    line += "; first at " + shape_text(place) + ": " + a + " | " + b;
    zp::json json = zp::json::object{{"differing", found.count}, {"values", total}};
    if (found.comparable) json.set("largest_difference", number_json(found.largest));
    json.set("first", to_json(place));
    json.set("first_values", zp::json::array{text_json(found.a), text_json(found.b)});
    return tell(name, line, std::move(json));
  }

  zp::result<void> finish() {
    if (of_.json)
      return put_json(zp::json::object{{"a", text_json(of_.a)},
                                       {"b", text_json(of_.b)},
                                       {"same", differ_ == 0 && !failed_},
                                       {"compared", compared_},
                                       {"different", different_arrays_},
                                       {"only_in_a", only_in_a_},
                                       {"only_in_b", only_in_b_},
                                       {"differences", std::move(found_)}});
    const std::string compared =
        std::to_string(compared_) + (compared_ == 1 ? " array" : " arrays") + " compared";
    if (failed_) return put(painted("INCOMPLETE", paint::yellow) + "  " + compared + '\n');
    if (differ_ == 0) return put(painted("SAME", paint::green) + "  " + compared + '\n');
    std::string text = painted("DIFFERENT", paint::red) + "  ";
    if (compared_ == 0) {
      text += "no array of A has the name of one of B";
    } else {
      text += compared + ", " + std::to_string(different_arrays_) + " with differences";
    }
    if (only_in_a_ != 0) text += "; " + std::to_string(only_in_a_) + " only in A";
    if (only_in_b_ != 0) text += "; " + std::to_string(only_in_b_) + " only in B";
    return put(text + '\n');
  }

  const diff_arguments& of_;
  const source& a_;
  const source& b_;
  std::optional<progress> bar_;
  zp::json::array found_;
  std::uint64_t differ_ = 0;
  std::uint64_t compared_ = 0;
  std::uint64_t different_arrays_ = 0;
  std::uint64_t only_in_a_ = 0, only_in_b_ = 0;
  bool failed_ = false;
};

}  // namespace

exit_status run_diff(const diff_arguments& of, const zp::context& how) {
  exit_status answer = exit_status::ok;
  const auto run = [&]() -> zp::result<void> {
    ZARRPOINT_TRY(a, open_source(of.a, how));
    ZARRPOINT_TRY(b, open_source(of.b, how));
    for (const auto& [path, from] : {std::pair(&of.a, a.get()), std::pair(&of.b, b.get())})
      for (const std::string& warning : from->warnings()) note(escaped(*path) + ": " + warning);
    comparison all(of, *a, *b);
    ZARRPOINT_CHECK(all.run());
    answer = all.status();
    return {};
  };
  if (const auto status = run(); !status) return fail(status.failure());
  return answer;
}

}  // namespace cli
