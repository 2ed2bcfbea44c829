// SPDX-FileCopyrightText: 2026 The zarrpoint authors
// SPDX-License-Identifier: Apache-2.0

#include <zarrpoint/s3.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace s3_xml_tests {

namespace zp = zarrpoint;
using namespace zp::detail;

namespace {

bool is_refused(std::string_view document) {
  const auto read = for_each_xml_text(document, [](std::string_view, std::string&) {});
  return !read && read.failure().code == zp::errc::corrupt;
}

}  // namespace

TEST_CASE("s3: a list of objects is read") {
  const auto page = parse_s3_listing(R"(<?xml version="1.0" encoding="UTF-8"?>
<!-- of S3 --><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
  <Name>b</Name><Prefix/><KeyCount>2</KeyCount><IsTruncated>true</IsTruncated>
  <Contents><Key>a&amp;b/&#x431; &#43;&lt;&gt;</Key><Size>434234</Size>
    <ETag>&quot;abc&quot;</ETag><LastModified>2009-10-12T17:50:30.000Z</LastModified>
    <Owner><ID>1</ID></Owner></Contents>
  <s3:Contents><s3:Key><![CDATA[x<y]]></s3:Key><s3:Size>0</s3:Size></s3:Contents>
  <CommonPrefixes><Prefix>a/</Prefix></CommonPrefixes>
  <NextContinuationToken>next</NextContinuationToken>
</ListBucketResult>)")
                        .value();
  REQUIRE(page.objects.size() == 2);
  CHECK(page.objects[0].key == "a&b/\xd0\xb1 +<>");
  CHECK(page.objects[0].size == 434234);
  CHECK(page.objects[0].etag == "\"abc\"");
  CHECK(page.objects[0].modified == "2009-10-12T17:50:30.000Z");
  CHECK(page.objects[1].key == "x<y");
  CHECK(page.prefixes == std::vector<std::string>{"a/"});
  CHECK(page.next == "next");
  CHECK(parse_s3_listing("<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>")
            .value()
            .next.empty());
}

TEST_CASE("s3: an error body is read, and what is none says nothing") {
  const s3_problem read = parse_s3_problem(
      "<Error><Code>AuthorizationHeaderMalformed</Code><Message>The region is wrong</Message>"
      "<Region>eu-west-1</Region><RequestId>4442587FB7D0A2F9</RequestId></Error>");
  CHECK(read.code == "AuthorizationHeaderMalformed");
  CHECK(read.message == "The region is wrong");
  CHECK(read.region == "eu-west-1");
  CHECK(read.request_id == "4442587FB7D0A2F9");
  CHECK(parse_s3_problem("<html><body>bad gateway").code.empty());
  CHECK(parse_s3_problem("").code.empty());
}

TEST_CASE("s3: XML that no answer has is refused") {
  CHECK(is_refused(""));
  CHECK(is_refused("text"));
  CHECK(is_refused("<a>"));
  CHECK(is_refused("<a></b>"));
  CHECK(is_refused("<a></a><b/>"));
  CHECK(is_refused("<a></a>text"));
  CHECK(is_refused("<a b='>"));
  CHECK(is_refused("<a>&what;</a>"));
  CHECK(is_refused("<a>&#0;</a>"));
  CHECK(is_refused("<a>&#xd800;</a>"));
  CHECK(is_refused("<a>&#x110000;</a>"));
  CHECK(is_refused("<a>&#99999999999999999999;</a>"));
  CHECK(is_refused("<a>&</a>"));
  CHECK(is_refused("<a><![CDATA[</a>"));
  CHECK(is_refused("<a><!-- </a>"));
  CHECK(is_refused("<></>"));
  // A thousand million laughs, which no entity of ours expands to.
  CHECK(
      is_refused("<!DOCTYPE lolz [<!ENTITY lol \"lol\"><!ENTITY lol1 \"&lol;&lol;\">]>"
                 "<lolz>&lol1;</lolz>"));
  std::string deep, ends;
  for (int i = 0; i < 1000; ++i) {
    deep += "<a>";
    ends += "</a>";
  }
  CHECK(is_refused(deep + ends));
}

TEST_CASE("s3: a list that makes no sense is refused") {
  for (const char* text :
       {"<Error/>", "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
        "<ListBucketResult><Contents><Key>k</Key><Size>-1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>"}) {
    CAPTURE(text);
    const auto read = parse_s3_listing(text);
    REQUIRE_FALSE(read);
    CHECK(read.failure().code == zp::errc::corrupt);
  }
}

}  // namespace s3_xml_tests
