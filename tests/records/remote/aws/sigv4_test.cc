#include "remote/aws/sigv4.h"

#include <gtest/gtest.h>

#include "io/url.h"

namespace infeed::detail {
namespace {

std::string signature_of(const std::string& authorization) {
  return authorization.substr(authorization.find("Signature=") + 10);
}

// Amazon S3's documentation: "Authenticating Requests: Using the Authorization Header".
const AwsCredentials kS3Example = {"AKIAIOSFODNN7EXAMPLE",
                                   "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
const SignatureScope kS3Scope = {"us-east-1", "s3", "20130524T000000Z"};

NamesAndValues s3_headers() {
  return {{"host", "examplebucket.s3.amazonaws.com"},
          {"x-amz-content-sha256", std::string(kEmptySha256)},
          {"x-amz-date", "20130524T000000Z"}};
}

TEST(SigV4, SignsTheDocumentedGetOfARange) {
  NamesAndValues headers = s3_headers();
  headers.emplace_back("range", "bytes=0-9");
  EXPECT_EQ(authorization({.path = "/test.txt", .headers = headers}, kS3Example, kS3Scope),
            "AWS4-HMAC-SHA256 "
            "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(SigV4, SignsTheDocumentedPut) {
  const NamesAndValues headers = {
      {"date", "Fri, 24 May 2013 00:00:00 GMT"},
      {"host", "examplebucket.s3.amazonaws.com"},
      {"x-amz-content-sha256", "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"},
      {"x-amz-date", "20130524T000000Z"},
      {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};
  EXPECT_EQ(
      signature_of(authorization({.method = "PUT", .path = "/test%24file.text", .headers = headers},
                                 kS3Example, kS3Scope)),
      "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST(SigV4, SignsTheDocumentedQueryWithoutAValue) {
  EXPECT_EQ(signature_of(
                authorization({.path = "/", .query = {{"lifecycle", ""}}, .headers = s3_headers()},
                              kS3Example, kS3Scope)),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST(SigV4, SignsTheDocumentedList) {
  EXPECT_EQ(
      signature_of(authorization(
          {.path = "/", .query = {{"prefix", "J"}, {"max-keys", "2"}}, .headers = s3_headers()},
          kS3Example, kS3Scope)),
      "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

// The suite aws-sig-v4-test-suite that AWS publishes for makers of clients.
const SignatureScope kSuiteScope = {"us-east-1", "service", "20150830T123600Z"};

AwsCredentials suite_credentials() {
  return {"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"};
}

std::string suite_signature(const NamesAndValues& query, NamesAndValues headers) {
  headers.emplace_back("host", "example.amazonaws.com");
  headers.emplace_back("x-amz-date", "20150830T123600Z");
  return signature_of(authorization({.path = "/", .query = query, .headers = std::move(headers)},
                                    suite_credentials(), kSuiteScope));
}

TEST(SigV4, PassesTheSuiteGetVanilla) {
  EXPECT_EQ(suite_signature({}, {}),
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
}

TEST(SigV4, PassesTheSuiteQueryOrderKeyCase) {
  EXPECT_EQ(suite_signature({{"Param2", "value2"}, {"Param1", "value1"}}, {}),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
}

TEST(SigV4, PassesTheSuiteHeaderValueTrim) {
  EXPECT_EQ(suite_signature({}, {{"my-header1", " value1"}, {"my-header2", " \"a   b   c\""}}),
            "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736");
  EXPECT_EQ(suite_signature({}, {{"my-header1", "value1  "}, {"my-header2", "\"a b c\" "}}),
            "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736");
  EXPECT_EQ(suite_signature({}, {{"empty", "  "}}), suite_signature({}, {{"empty", ""}}));
}

TEST(SigV4, EncodesAsTheStandardSays) {
  EXPECT_EQ(percent_encode("a b/ü~-._", Slash::keep), "a%20b/%C3%BC~-._");
  EXPECT_EQ(percent_encode("a/b=&", Slash::encode), "a%2Fb%3D%26");
  EXPECT_EQ(percent_decode("a%20b%2fc%C3%BC%"), "a b/cü%");
  EXPECT_EQ(canonical_query({{"b", "2"}, {"a", "x y"}, {"a", ""}}), "a=&a=x%20y&b=2");
}

}  // namespace
}  // namespace infeed::detail
