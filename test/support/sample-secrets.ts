import { randomBytes } from 'node:crypto'

// Secrets as people paste them and tools print them. Each has a core of its own, made anew in each run, by which every copy and every piece of it is found.

export interface SampleSecret {
  readonly kind: string
  readonly text: string
  /** 24 letters and digits. */
  readonly core: string
}

/** `*` stands for the core. */
const KINDS: Readonly<Record<string, string>> = {
  'Anthropic API key': 'sk-ant-api03-*AA',
  'OpenAI API key': 'sk-proj-*',
  'AWS access key id': 'AKIA*',
  'AWS secret access key': 'aws_secret_access_key = wJalr/*+bPxRfi',
  'GitHub token': 'ghp_*abcdefghijkl',
  'GitHub fine-grained token': 'github_pat_11ABCDEFG_*',
  'GitLab token': 'glpat-*',
  'Slack bot token': 'xoxb-2404-1712-*',
  'Slack web hook': 'https://hooks.slack.com/services/T0/B0/*',
  'Stripe key': 'sk_live_*',
  'Google API key': 'AIza*abcdefghijk',
  'Google service account':
    '{"type":"service_account","private_key":"-----BEGIN PRIVATE KEY-----\\n*\\n-----END PRIVATE KEY-----\\n"}',
  'JSON web token': 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.*',
  'npm token': 'npm_*abcdefghijkl',
  'PyPI token': 'pypi-AgEIcHlwaS5vcmc*',
  'Docker Hub token': 'dckr_pat_*',
  'Hugging Face token': 'hf_*',
  'SendGrid key': 'SG.*.abcdefghijklmnopqrstuvwxyz',
  'Twilio token': 'TWILIO_AUTH_TOKEN=*',
  'Azure storage key':
    'DefaultEndpointsProtocol=https;AccountName=a;AccountKey=*==;EndpointSuffix=core.windows.net',
  'database URL': 'postgres://app:*@db.internal:5432/app',
  'Redis URL': 'rediss://:*@cache.internal:6380/0',
  'basic authentication': 'Authorization: Basic *==',
  'bearer token': 'Authorization: Bearer *',
  'session cookie': 'Cookie: session=*; Path=/',
  'SSH private key': '-----BEGIN OPENSSH PRIVATE KEY-----\n*\n-----END OPENSSH PRIVATE KEY-----',
  'PGP private key': '-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n*\n-----END PGP PRIVATE KEY BLOCK-----',
  'password in .netrc': 'machine example.org login me password *',
  'password hash': '$2y$10$*abcdefghijklmnopqrstuvwxyz',
  'Kubernetes secret': 'kind: Secret\ndata:\n  password: *',
  'Vault token': 'hvs.*',
  'Telegram bot token': '110201543:*',
}

export const sampleSecrets = (): SampleSecret[] =>
  Object.entries(KINDS).map(([kind, form]) => {
    const core = randomBytes(12).toString('hex')
    return { kind, text: form.replace('*', () => core), core }
  })
