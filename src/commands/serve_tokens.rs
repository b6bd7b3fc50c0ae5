//! `serve tokens`: lists, makes and revokes tokens for programs (spec 11.22).

use callsheet_app::{Advice, ClientRight};

use crate::cli::{Exit, Failure, TokenRight, TokensAddArgs, TokensArgs, TokensCommand};
use crate::config::TokenList;
use crate::setup::{Setup, civil};

pub(super) fn tokens(setup: &Setup, arguments: &TokensArgs) -> Result<Exit, Failure> {
    let list = TokenList::new(&setup.folders, &setup.project);
    match &arguments.command {
        None => show(setup, &list)?,
        Some(TokensCommand::Add(add)) => make(setup, &list, add)?,
        Some(TokensCommand::Revoke(revoke)) => {
            revoke.names.iter().try_for_each(|name| take_back(setup, &list, name))?;
        }
    }
    Ok(Exit::Complete)
}

fn make(setup: &Setup, list: &TokenList, add: &TokensAddArgs) -> Result<(), Failure> {
    let right = match add.may {
        TokenRight::Look => ClientRight::Look,
        TokenRight::Steer => ClientRight::Steer,
        TokenRight::Approve => ClientRight::Approve,
    };
    let made = list.add(&add.name, right).map_err(|error| unusable(list, &error))?;
    let Some(token) = made else {
        let name = &add.name;
        return Err(Failure::usage(
            format!("{name} already has a token for this project"),
            Advice::command("revoke it first", ["serve", "tokens", "revoke", name]),
        ));
    };
    if setup.json {
        let made = serde_json::json!({ "name": add.name, "may": right, "token": token });
        return super::print_json(&made);
    }
    tell!("{} may {} in {}; this token is shown only once:", add.name, right.name(), setup.project.display());
    super::print(&format!("{token}\n"))
}

fn take_back(setup: &Setup, list: &TokenList, name: &str) -> Result<(), Failure> {
    if list.revoke(name).map_err(|error| unusable(list, &error))? {
        return super::say(setup, &format!("revoked the token of {name}"));
    }
    let advice = Advice::command("list them", ["serve", "tokens"]);
    Err(Failure::usage(format!("there is no token of {name} for this project"), advice))
}

fn show(setup: &Setup, list: &TokenList) -> Result<(), Failure> {
    let tokens = list.here().map_err(|error| unusable(list, &error))?;
    for token in &tokens {
        if setup.json {
            super::print_json(&serde_json::json!({ "name": token.name, "may": token.may, "since": token.since }))?;
        } else {
            let (year, month, day, _) = civil(token.since);
            let may = token.may.name();
            super::print(&format!("{}  may {may}, since {year:04}-{month:02}-{day:02}\n", token.name))?;
        }
    }
    if tokens.is_empty() && !setup.json {
        tell!("no program has a token for this project; to make one, see {} serve tokens add --help", setup.command);
    }
    Ok(())
}

fn unusable(list: &TokenList, error: &std::io::Error) -> Failure {
    Failure::internal(
        format!("can't use the list of tokens, {}: {error}", list.file().display()),
        "repair or delete the file; until then, no token is valid",
    )
}
