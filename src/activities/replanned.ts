import { isSessionError } from '../shared/errors.ts'

const MAX_PLANS = 8

/** Plans are made on a log that others append to, messages that belong to no turn among them: one whose log has moved is made anew. */
export async function replanned<T>(plan: () => Promise<T>): Promise<T> {
  for (let plans = 1; ; plans++) {
    try {
      return await plan()
    } catch (error) {
      if (!isSessionError(error, 'HeadMoved') || plans >= MAX_PLANS) throw error
    }
  }
}
