/**
 * Character classes for patterns, as ranges of UTF-16 code units: `\p{L}` with the `u` flag takes four times as long.
 * Letters beyond the Basic Multilingual Plane are left out, so that an emoji never becomes part of a name.
 */

/** Letters and digits outside ASCII (no punctuation, arrows, box drawing or full-width signs). */
export const WIDE =
  '\\u00c0-\\u00d6\\u00d8-\\u00f6\\u00f8-\\u036f\\u0370-\\u037d\\u037f-\\u0386\\u0388-\\u055a\\u0560-\\u0588\\u0591-\\u05bd' +
  '\\u05bf-\\u05f2\\u0610-\\u061a\\u0620-\\u0669\\u066e-\\u06d3\\u06d5-\\u0963\\u0966-\\u0df3\\u0e00-\\u0e4e\\u0e50-\\u0e59' +
  '\\u0e80-\\u10fa\\u10fc-\\u135f\\u1380-\\u166c\\u1780-\\u17d3\\u17e0-\\u17fc\\u1e00-\\u1fff\\u2c00-\\u2dff\\u3005-\\u3007' +
  '\\u3041-\\u309a\\u309d-\\u309f\\u30a1-\\u30fa\\u30fc-\\u318e\\u31a0-\\u31ff\\u3400-\\ua4cf\\uac00-\\ud7ff\\uf900-\\ufaff' +
  '\\uff10-\\uff19\\uff21-\\uff3a\\uff41-\\uff5a\\uff66-\\uffdc'

/** Scripts that write words without a blank between them: there a file name can touch the words around it. */
export const UNSPACED =
  '\\u0e00-\\u0e7f\\u3005-\\u3007\\u3041-\\u30ff\\u3400-\\u9fff\\uf900-\\ufaff\\uff66-\\uff9f'

/** One character of a file name: ASCII word character or any other letter. */
export const LETTER = `\\w${WIDE}`

/** What stands before the colon of a Windows path: a drive, or a hive of the registry. */
export const DRIVE = '(?:[A-Za-z]|HK[A-Z]{2,3})'
