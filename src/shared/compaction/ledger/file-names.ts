/** Endings that make a bare word such as `main.py` a file name. Not among them: endings that are also common methods. */
const EXTENSIONS =
  'astro|avif|bash|bat|bicep|bmp|cc|cfg|cjs|clj|cljs|cmake|cmd|conf|cpp|cs|csproj|css|csv|cts|cue|dart|db|diff|docx|' +
  'eex|ejs|erb|erl|ex|exs|fish|fs|fsx|gif|go|gql|gradle|graphql|gz|hbs|heex|hpp|hrl|hs|html|ico|ini|ipynb|jar|java|' +
  'jpeg|jpg|jsx?|json[5lc]?|kts?|leex|less|lock|log|lua|mdx?|mjs|mk|ml|mts|nix|odt|patch|pdf|php|pl|plist|png|proto|' +
  'ps1|pxd|pyc?|pyi|pyx|rb|rs|rst|sass|scala|scss|sh|sln|sql|sqlite3?|svelte|svg|swift|tar|tex|tfvars|tf|toml|traj|' +
  'tsx?|ttf|txt|vue|wasm|webp|woff2?|xlsx?|xml|ya?ml|zig|zip|zsh|[ch]'

/** Files known by their whole name. */
const WHOLE_NAMES =
  'Brewfile|CMakeLists\\.txt|Caddyfile|Containerfile|Dockerfile|Gemfile|Jenkinsfile|[Jj]ustfile|LICENSE|Makefile|' +
  'Pipfile|Procfile|Rakefile|Vagrantfile|\\.env(?:\\.\\w{1,20})?|\\.(?:bashrc|dockerignore|editorconfig|eslintrc|' +
  'formatter\\.exs|gitattributes|gitignore|gitmodules|npmrc|nvmrc|prettierrc|profile|tool-versions|zshrc)'

/** Method calls that look like a file name. */
export const NOT_A_FILE =
  /^(?:console|[Mm]ath|logger|log|np|torch|process|window|document|this|self)\.(?:log|c|h|cs)$/

export const EXTENSION = EXTENSIONS
export const WHOLE_NAME = WHOLE_NAMES

const FILE_ENDING = /\.[A-Za-z]\w{0,7}$/
const IS_WHOLE_NAME = new RegExp(`^(?:${WHOLE_NAMES})$`)

/** Whether the last part of a path is a file and not a folder. */
export function isFileName(lastPart: string): boolean {
  return FILE_ENDING.test(lastPart) || IS_WHOLE_NAME.test(lastPart)
}

export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}
