// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zarrpoint/core/json.hpp>
#include <zarrpoint/core/result.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace zarrpoint { inline namespace v0 {

/// A `json` as a value of nlohmann/json: `nlohmann::ordered_json`, which keeps the order of the
/// members, or another `basic_json`. NaN and the infinities stay numbers, which `dump` writes as
/// null.
template <class Json = nlohmann::ordered_json>
Json to_nlohmann(const json& from) {
  if (const json::object* const members = from.if_object()) {
    Json out = Json::object();
    for (const json::member& member : *members) out[member.key] = to_nlohmann<Json>(member.value);
    return out;
  }
  if (const json::array* const elements = from.if_array()) {
    Json out = Json::array();
    for (const json& element : *elements) out.push_back(to_nlohmann<Json>(element));
    return out;
  }
  if (const std::string* const text = from.if_string()) return Json(*text);
  if (const bool* const truth = from.if_bool()) return Json(*truth);
  if (!from.is_number()) return Json(nullptr);
  if (!from.is_integer()) return Json(*from.to_double());
  if (const auto number = from.to_uint64()) return Json(*number);
  return Json(*from.to_int64());
}

/// A value of nlohmann/json as a `json`, e.g. for `save_options::attributes`. Errors: `unsupported`
/// for a binary or discarded value, which JSON has not.
template <class Json>
result<json> from_nlohmann(const Json& from) {
  if (from.is_null()) return json();
  if (from.is_boolean()) return json(from.template get<bool>());
  if (from.is_number_unsigned()) return json(from.template get<std::uint64_t>());
  if (from.is_number_integer()) return json(from.template get<std::int64_t>());
  if (from.is_number_float()) return json(from.template get<double>());
  if (from.is_string()) return json(from.template get<std::string>());
  if (from.is_array()) {
    json::array out;
    out.reserve(from.size());
    for (const Json& element : from) {
      ZARRPOINT_TRY(made, from_nlohmann(element));
      out.push_back(std::move(made));
    }
    return json(std::move(out));
  }
  if (!from.is_object())
    return error{errc::unsupported, std::string("JSON has no ") + from.type_name() + " value"};
  json::object out;
  out.reserve(from.size());
  for (auto member = from.begin(); member != from.end(); ++member) {
    ZARRPOINT_TRY(made, from_nlohmann(member.value()));
    out.push_back({member.key(), std::move(made)});
  }
  return json(std::move(out));
}

}}  // namespace zarrpoint::v0
