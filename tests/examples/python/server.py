"""A server on the Python SDK."""

from typing import Literal

from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel

server = MCPServer("library")


class Book(BaseModel):
    isbn: str
    title: str
    year: int


@server.tool()
def find_books(text: str, language: Literal["de", "en", "fr"] = "en", limit: int = 20) -> list[Book]:
    """Finds books by words of their title or author."""
    return []


@server.tool()
def reserve(isbn: str, branch: str) -> str:
    """Reserves a book at a branch; answers with the number of the reservation."""
    return f"{branch}-{isbn}"


server.run(transport="stdio")
