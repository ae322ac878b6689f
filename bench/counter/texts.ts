import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

const CHINESE =
  '我们 系统 需要 在 每次 请求 之前 检查 上下文 的 长度 ， 如果 超过 限制 就 压缩 较早 的 消息 。 文件 已经 修改 完成 但是 测试 仍然 失败 ： 原因 是 数据库 连接 没有 正确 关闭 ； 请 查看 日志 并且 重新 运行 命令 （ 参见 第 三 节 ） 用户 希望 保留 所有 决定 和 路径 、 错误 信息 以及 下一步 计划 ！'
const JAPANESE =
  'この 関数 は 、 会話 の 履歴 を 要約 して から 新しい 要求 を 送信 します 。 エラー が 発生 した 場合 に は ログ を 確認 し て ください 。 ファイル の 変更 と テスト 結果 を 保存 する 必要 が あり ます 「 上限 を 超えました 」 と 表示 された ら 再起動 して から もう一度 試す こと'

/** A generator of its own, so that every run counts the same text. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

function generated(chars: number, next: () => string): string {
  const parts: string[] = []
  for (let length = 0; length < chars; ) {
    const part = next()
    parts.push(part)
    length += part.length
  }
  return parts.join('')
}

const sources = (): string[] =>
  readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .sort()
    .map((name) => readFileSync(join(ROOT, 'src', name), 'utf8'))

const readmes = (): string[] =>
  readdirSync(join(ROOT, 'node_modules'))
    .sort()
    .map((name) => join(ROOT, 'node_modules', name, 'README.md'))
    .filter((path) => existsSync(path))
    .map((path) => readFileSync(path, 'utf8'))

function logs(chars: number): string {
  const pick = random(11)
  const levels = ['INFO', 'WARN', 'ERROR', 'DEBUG']
  const parts = ['worker', 'store', 'http', 'scheduler', 'retry']
  const hex = (length: number): string =>
    Array.from({ length }, () => Math.floor(pick() * 16).toString(16)).join('')
  return generated(chars, () => {
    const time = new Date(1_760_000_000_000 + Math.floor(pick() * 1e9)).toISOString()
    const part = parts[Math.floor(pick() * parts.length)]
    return `${time} ${levels[Math.floor(pick() * 4)]} [${part}] request ${hex(8)}-${hex(4)} took ${Math.floor(pick() * 9000)}ms status=${200 + Math.floor(pick() * 4) * 100} path=/api/v1/items/${Math.floor(pick() * 1e6)}\n`
  })
}

function cjk(chars: number): string {
  const pick = random(5)
  const words = [...CHINESE.split(' '), ...JAPANESE.split(' ')]
  // Clauses of some eight characters, as people write them.
  return generated(chars, () => (pick() < 0.1 ? '，' : (words[Math.floor(pick() * words.length)] as string)))
}

/** Ordinary texts: README files of the dependencies, our own source, our lock file, and generated ones. */
export const TEXTS: Readonly<Record<string, (chars: number) => string>> = {
  prose: (chars) => readmes().join('\n').slice(0, chars),
  source: (chars) => sources().join('\n').slice(0, chars),
  JSON: (chars) => readFileSync(join(ROOT, 'package-lock.json'), 'utf8').slice(0, chars),
  logs: (chars) => logs(chars).slice(0, chars),
  CJK: (chars) => cjk(chars).slice(0, chars),
}

function letters(chars: number, alphabet: string): string {
  const pick = random(7)
  return generated(chars, () => alphabet.charAt(Math.floor(pick() * alphabet.length)))
}

const UNBROKEN: Readonly<Record<string, (chars: number) => string>> = {
  'letter a': (chars) => 'a'.repeat(chars),
  spaces: (chars) => ' '.repeat(chars),
  'equals signs': (chars) => '='.repeat(chars),
  'U+200B': (chars) => '\u200b'.repeat(chars),
  'random a-z': (chars) => letters(chars, 'abcdefghijklmnopqrstuvwxyz'),
  'one hanzi': (chars) => '中'.repeat(chars),
  'random hanzi': (chars) => letters(chars, CHINESE.replace(/[ ，。：；（）、！]/g, '')),
}
export const UNBROKEN_KINDS = Object.keys(UNBROKEN)

/** A text without a place to cut it, so that all of it is one piece. */
export function unbrokenText(kind: string, chars: number): string {
  const make = UNBROKEN[kind]
  if (make === undefined)
    throw new RangeError(`kind must be one of ${UNBROKEN_KINDS.join(', ')}, got ${kind}`)
  return make(chars)
}
