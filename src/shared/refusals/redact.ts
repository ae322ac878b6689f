/** Stands where a secret stood. */
const MARK = '[secret removed]'

/** What is a secret by its own form: keys of providers and clouds, tokens of hosts, JSON web tokens, private keys. */
const SECRETS =
  /\b(?:sk|rk|pk)[-_][A-Za-z0-9_*-]{8,}|\b(?:gsk|xai|hf|r8|pplx|nvapi|fw|tgp|csk|dop_v1|shpat|npm|glpat|figd)[-_][A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}|\bxox[a-z]-[A-Za-z0-9-]{10,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}|\bya29\.[\w-]{20,}|\bglsa_\w{20,}|\bSG\.[\w-]{16,}\.[\w-]{16,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g

/** `Bearer x`, `Basic x`, `Authorization: Token x`, and the password of an address. */
const SCHEMES = /\b(Bearer|Basic|authorization["']?\s*[:=]\s*["']?Token)\s+[\w.~+/=-]{8,}/gi
const ADDRESS = /\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@:]*:[^\s@]{1,200}@/gi

/** `x-api-key: x`, `"access_token":"x"`, `?key=x`: the name stays. Numbers and words stay too, as in `max_tokens: 4096`. */
const NAMED =
  /((?:api|access|secret|private|auth|session|client|account|shared)[-_ ]?(?:key|token|secret)|authorization|[?&](?:key|token|sig|signature))(["']?\s*[:=]\s*["']?)(?!\[secret)([^\s"',;&<>]{8,})/gi

/** A password may be short, and a field that is called no more than `token` has a long value. */
const PASSWORD = /((?:passw(?:or)?d|\bpass)["']?\s*[:=]\s*["']?)(?!\[secret)[^\s"',;&<>]{4,}/gi
const TOKEN = /(\btoken["']?\s*[:=]\s*["']?)(?!\[secret)[^\s"',;&<>]{12,}/gi

/** Nobody reads more of an error, and the searches take time by the square of runs such as `a.a.a.`. */
const MOST_CHARS = 4_000

/**
 * The beginning, at most 4,000 characters, of a text of a provider or a client without what looks like a secret, so that it can stand in an error, a log
 * and Temporal's history. Some words that are none go, too. Cost: a few searches.
 */
export function redact(text: string): string {
  return text
    .slice(0, MOST_CHARS)
    .replace(SECRETS, MARK)
    .replace(SCHEMES, `$1 ${MARK}`)
    .replace(ADDRESS, `$1${MARK}@`)
    .replace(NAMED, (_, name: string, sign: string) => `${name}${sign}${MARK}`)
    .replace(PASSWORD, `$1${MARK}`)
    .replace(TOKEN, `$1${MARK}`)
}
