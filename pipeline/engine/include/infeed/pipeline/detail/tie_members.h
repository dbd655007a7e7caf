#pragma once

#include <cstddef>
#include <tuple>

namespace infeed::detail {

// Structured bindings must name every member, so there is a case for each number of members, up to
// kFieldsMax (fields.h). A case is its number, the names that it shares with those before it, and
// its own.
#define INFEED_FIRST_8 a, b, c, d, e, f, g, h
#define INFEED_FIRST_16 INFEED_FIRST_8, i, j, k, l, m, n, o, p
#define INFEED_FIRST_24 INFEED_FIRST_16, q, r, s, t, u, v, w, x
#define INFEED_FIRST_32 INFEED_FIRST_24, y, z, aa, ab, ac, ad, ae, af
#define INFEED_FIRST_40 INFEED_FIRST_32, ag, ah, ai, aj, ak, al, am, an
#define INFEED_FIRST_48 INFEED_FIRST_40, ao, ap, aq, ar, as, at, au, av
#define INFEED_FIRST_56 INFEED_FIRST_48, aw, ax, ay, az, ba, bb, bc, bd
#define INFEED_TIE(number, ...)      \
  if constexpr (Count == (number)) { \
    auto& [__VA_ARGS__] = value;     \
    return std::tie(__VA_ARGS__);    \
  }

/// Returns references to the members of a struct that has `Count` of them, as a tuple.
template <std::size_t Count, class T>
constexpr auto tie_members(T& value) {
  static_assert(Count >= 1 && Count <= 64);
  INFEED_TIE(1, a)
  INFEED_TIE(2, a, b)
  INFEED_TIE(3, a, b, c)
  INFEED_TIE(4, a, b, c, d)
  INFEED_TIE(5, a, b, c, d, e)
  INFEED_TIE(6, a, b, c, d, e, f)
  INFEED_TIE(7, a, b, c, d, e, f, g)
  INFEED_TIE(8, a, b, c, d, e, f, g, h)
  INFEED_TIE(9, INFEED_FIRST_8, i)
  INFEED_TIE(10, INFEED_FIRST_8, i, j)
  INFEED_TIE(11, INFEED_FIRST_8, i, j, k)
  INFEED_TIE(12, INFEED_FIRST_8, i, j, k, l)
  INFEED_TIE(13, INFEED_FIRST_8, i, j, k, l, m)
  INFEED_TIE(14, INFEED_FIRST_8, i, j, k, l, m, n)
  INFEED_TIE(15, INFEED_FIRST_8, i, j, k, l, m, n, o)
  INFEED_TIE(16, INFEED_FIRST_8, i, j, k, l, m, n, o, p)
  INFEED_TIE(17, INFEED_FIRST_16, q)
  INFEED_TIE(18, INFEED_FIRST_16, q, r)
  INFEED_TIE(19, INFEED_FIRST_16, q, r, s)
  INFEED_TIE(20, INFEED_FIRST_16, q, r, s, t)
  INFEED_TIE(21, INFEED_FIRST_16, q, r, s, t, u)
  INFEED_TIE(22, INFEED_FIRST_16, q, r, s, t, u, v)
  INFEED_TIE(23, INFEED_FIRST_16, q, r, s, t, u, v, w)
  INFEED_TIE(24, INFEED_FIRST_16, q, r, s, t, u, v, w, x)
  INFEED_TIE(25, INFEED_FIRST_24, y)
  INFEED_TIE(26, INFEED_FIRST_24, y, z)
  INFEED_TIE(27, INFEED_FIRST_24, y, z, aa)
  INFEED_TIE(28, INFEED_FIRST_24, y, z, aa, ab)
  INFEED_TIE(29, INFEED_FIRST_24, y, z, aa, ab, ac)
  INFEED_TIE(30, INFEED_FIRST_24, y, z, aa, ab, ac, ad)
  INFEED_TIE(31, INFEED_FIRST_24, y, z, aa, ab, ac, ad, ae)
  INFEED_TIE(32, INFEED_FIRST_24, y, z, aa, ab, ac, ad, ae, af)
  INFEED_TIE(33, INFEED_FIRST_32, ag)
  INFEED_TIE(34, INFEED_FIRST_32, ag, ah)
  INFEED_TIE(35, INFEED_FIRST_32, ag, ah, ai)
  INFEED_TIE(36, INFEED_FIRST_32, ag, ah, ai, aj)
  INFEED_TIE(37, INFEED_FIRST_32, ag, ah, ai, aj, ak)
  INFEED_TIE(38, INFEED_FIRST_32, ag, ah, ai, aj, ak, al)
  INFEED_TIE(39, INFEED_FIRST_32, ag, ah, ai, aj, ak, al, am)
  INFEED_TIE(40, INFEED_FIRST_32, ag, ah, ai, aj, ak, al, am, an)
  INFEED_TIE(41, INFEED_FIRST_40, ao)
  INFEED_TIE(42, INFEED_FIRST_40, ao, ap)
  INFEED_TIE(43, INFEED_FIRST_40, ao, ap, aq)
  INFEED_TIE(44, INFEED_FIRST_40, ao, ap, aq, ar)
  INFEED_TIE(45, INFEED_FIRST_40, ao, ap, aq, ar, as)
  INFEED_TIE(46, INFEED_FIRST_40, ao, ap, aq, ar, as, at)
  INFEED_TIE(47, INFEED_FIRST_40, ao, ap, aq, ar, as, at, au)
  INFEED_TIE(48, INFEED_FIRST_40, ao, ap, aq, ar, as, at, au, av)
  INFEED_TIE(49, INFEED_FIRST_48, aw)
  INFEED_TIE(50, INFEED_FIRST_48, aw, ax)
  INFEED_TIE(51, INFEED_FIRST_48, aw, ax, ay)
  INFEED_TIE(52, INFEED_FIRST_48, aw, ax, ay, az)
  INFEED_TIE(53, INFEED_FIRST_48, aw, ax, ay, az, ba)
  INFEED_TIE(54, INFEED_FIRST_48, aw, ax, ay, az, ba, bb)
  INFEED_TIE(55, INFEED_FIRST_48, aw, ax, ay, az, ba, bb, bc)
  INFEED_TIE(56, INFEED_FIRST_48, aw, ax, ay, az, ba, bb, bc, bd)
  INFEED_TIE(57, INFEED_FIRST_56, be)
  INFEED_TIE(58, INFEED_FIRST_56, be, bf)
  INFEED_TIE(59, INFEED_FIRST_56, be, bf, bg)
  INFEED_TIE(60, INFEED_FIRST_56, be, bf, bg, bh)
  INFEED_TIE(61, INFEED_FIRST_56, be, bf, bg, bh, bi)
  INFEED_TIE(62, INFEED_FIRST_56, be, bf, bg, bh, bi, bj)
  INFEED_TIE(63, INFEED_FIRST_56, be, bf, bg, bh, bi, bj, bk)
  INFEED_TIE(64, INFEED_FIRST_56, be, bf, bg, bh, bi, bj, bk, bl)
}

#undef INFEED_TIE
#undef INFEED_FIRST_8
#undef INFEED_FIRST_16
#undef INFEED_FIRST_24
#undef INFEED_FIRST_32
#undef INFEED_FIRST_40
#undef INFEED_FIRST_48
#undef INFEED_FIRST_56

}  // namespace infeed::detail
