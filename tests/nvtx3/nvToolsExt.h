// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

// The part of NVTX that interop/nvtx.hpp uses, for machines without CUDA: it keeps what it is told.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct nvtx_seen {
  std::vector<std::string> open;     // ranges
  std::vector<std::string> all;      // that were begun, and their payloads
  std::vector<std::uint64_t> bytes;  // by the range
  std::string domain;
};
inline nvtx_seen fake_nvtx;

using nvtxDomainHandle_t = nvtx_seen*;
struct nvtxEventAttributes_t {
  std::uint16_t version, size;
  std::uint32_t category;
  std::int32_t colorType;
  std::uint32_t color;
  std::int32_t payloadType, reserved0;
  union {
    std::uint64_t ullValue;
  } payload;
  std::int32_t messageType;
  union {
    const char* ascii;
  } message;
};
constexpr std::uint16_t NVTX_VERSION = 3;
constexpr std::uint16_t NVTX_EVENT_ATTRIB_STRUCT_SIZE = sizeof(nvtxEventAttributes_t);
constexpr std::int32_t NVTX_PAYLOAD_TYPE_UNSIGNED_INT64 = 1;
constexpr std::int32_t NVTX_MESSAGE_TYPE_ASCII = 1;

inline nvtxDomainHandle_t nvtxDomainCreateA(const char* name) {
  fake_nvtx = {};
  fake_nvtx.domain = name;
  return &fake_nvtx;
}
inline void nvtxDomainDestroy(nvtxDomainHandle_t of) { of->domain.clear(); }
inline int nvtxDomainRangePushEx(nvtxDomainHandle_t of, const nvtxEventAttributes_t* range) {
  of->open.emplace_back(range->message.ascii);
  of->all.push_back(of->open.back());
  of->bytes.push_back(range->payload.ullValue);
  return static_cast<int>(of->open.size());
}
inline int nvtxDomainRangePop(nvtxDomainHandle_t of) {
  if (of->open.empty()) return -1;
  of->open.pop_back();
  return static_cast<int>(of->open.size());
}
