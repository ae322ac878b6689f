import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { replayModel } from '../src/activities/models/replay.ts'
import { type ScriptedModelOptions, scriptedModel } from '../src/activities/models/scripted.ts'
import { fileTools } from '../src/activities/tools/file-tools.ts'
import { walkFiles } from '../src/activities/tools/walk-files.ts'
import { deliveringTools } from '../src/cli/replay/delivering-tools.ts'
import { replayWindow } from '../src/cli/replay/replay-window.ts'
import { readTranscript } from '../src/formats/read-transcript.ts'
import { planReplay } from '../src/formats/replay-plan.ts'
import type { ModelClient } from '../src/shared/ports/model.ts'
import type { SessionStore } from '../src/shared/ports/store.ts'
import type { Tool } from '../src/shared/ports/tool.ts'

/** What the worker processes of one demo share. Passed to them as JSON in the environment. */
export interface Stage {
  readonly address: string
  readonly taskQueue: string
  readonly storePath: string
  /** The workflows, bundled once for all workers. */
  readonly bundlePath: string
  /** One line for each answer that the model gave: what was paid. */
  readonly paidPath: string
  readonly root: string
  /** A recorded transcript to play instead of exploring `root`. */
  readonly transcript?: string
  /** The model holds its first summary this long, so that there is time to kill the worker. */
  readonly holdMs: number
}

export interface Cast {
  readonly model: ModelClient
  readonly tools: readonly Tool[]
}

const EXPLORER_WINDOW = 16_000
/** The explorer stops after this many automatic compactions, or steps. */
const ENOUGH_COMPACTIONS = 3
const MOST_STEPS = 60

const EXPLORER_SUMMARY =
  'The task is to get to know the sources, file by file, in order. What was read so far is listed below by name; no file was changed. ' +
  'Nothing is blocked. Next: read on behind the last file, then say what each folder is for.'

/** Nobody who could summarize a recorded conversation takes part in its replay. */
const RECORDED_SUMMARY =
  '(Here a model would say why things were done and what comes next. None takes part in a replay; all around this line is written by code.)'

export async function createCast(stage: Stage, store: SessionStore): Promise<Cast> {
  const cast =
    stage.transcript === undefined ? await explorer(stage, store) : recorded(stage.transcript, stage, store)
  return { tools: cast.tools, model: recordingAnswers(cast.model, stage.paidPath) }
}

/** The files that the explorer reads, in order. */
export async function explored(root: string): Promise<string[]> {
  const files: string[] = []
  const folder = join(root, 'src')
  for await (const file of walkFiles(root, folder, new AbortController().signal)) files.push(file)
  return files.slice(0, MOST_STEPS - 2)
}

async function explorer(stage: Stage, store: SessionStore): Promise<Cast> {
  const files = await explored(stage.root)
  const model = scriptedModel(
    async ({ index, sessionId }) => {
      if (index === 0) return call(index, 'list_files', { path: 'src' })
      const file = files[index - 1]
      const compactions = await store.attempts({ sessionId, state: 'ended' })
      const done =
        file === undefined ||
        compactions.filter((row) => row.cause === 'pressure').length >= ENOUGH_COMPACTIONS
      return done
        ? `I have read ${index - 1} files and know the sources now.`
        : call(index, 'read_file', { path: file })
    },
    modelOptions(stage, EXPLORER_WINDOW, EXPLORER_SUMMARY),
  )
  return { model, tools: fileTools(stage.root) }
}

const call = (index: number, name: string, input: Record<string, string>) => ({
  content: [
    { type: 'text', text: `Step ${index + 1}: ${name} ${input['path']}` },
    { type: 'tool_use', id: `call_${index}`, name, input },
  ],
})

function recorded(path: string, stage: Stage, store: SessionStore): Cast {
  const plan = planReplay(readTranscript(readFileSync(path, 'utf8'), { fileName: path }))
  return {
    model: replayModel(plan, modelOptions(stage, replayWindow(plan), RECORDED_SUMMARY)),
    tools: deliveringTools(plan, store),
  }
}

function modelOptions({ holdMs }: Stage, contextWindow: number, summaries: string): ScriptedModelOptions {
  let held = false
  return {
    capacity: { contextWindow, maxOutputTokens: contextWindow },
    summaries,
    delayMs: ({ purpose }) => {
      if (purpose !== 'summary' || held) return 0
      held = true
      return holdMs
    },
  }
}

/** Writes a line for each answer, right after it was given: an answer that was held back by a killed worker is none. */
function recordingAnswers(model: ModelClient, path: string): ModelClient {
  return {
    ...model,
    async generate(request, context) {
      const reply = await model.generate(request, context)
      appendFileSync(path, `${JSON.stringify({ purpose: request.purpose, index: request.index })}\n`)
      return reply
    },
  }
}
