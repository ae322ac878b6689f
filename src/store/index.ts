export type { BodyCodec } from '../shared/ports/body-codec.ts'
export type { SessionStore } from '../shared/ports/store.ts'
export { type SqliteStoreOptions, sqliteStore } from './sqlite.ts'
